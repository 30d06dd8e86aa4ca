"""Link the sources of one module into an image, in a worker process."""
