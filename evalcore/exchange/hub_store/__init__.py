"""Results kept in a data set repository of the Hugging Face Hub, for hosts whose disk is lost."""
