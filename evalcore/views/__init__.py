"""Pure functions from the store to frames, for pages, routes and the command line alike."""
