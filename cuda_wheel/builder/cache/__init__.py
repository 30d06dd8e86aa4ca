"""Keep the results of jobs across builds."""
