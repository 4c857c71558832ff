"""The synchronous client, written by `python python/tools/sync_client.py` from `_async`."""
