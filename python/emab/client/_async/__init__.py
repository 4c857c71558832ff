"""The asynchronous client: the source that `tools/sync_client.py` writes the synchronous client from."""
