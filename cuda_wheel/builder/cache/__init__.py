"""Cache the results of a build, within it and across builds."""
