"""A leaderboard as a folder of files: for free static hosting, and for opening without a server."""
