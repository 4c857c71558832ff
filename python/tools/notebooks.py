"""Executes the notebooks and saves their outputs: ``python python/tools/notebooks.py [NAME...]``."""

import sys
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"


def execute(path: Path, seconds: int = 600) -> nbformat.NotebookNode:
    """Return a notebook, executed by this Python interpreter."""
    notebook = nbformat.read(path, as_version=4)
    manager = AsyncKernelManager()
    manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=seconds,
        resources={"metadata": {"path": str(path.parent)}},
        # Times would change with every run.
        record_timing=False,
    )
    client.execute()
    # Version numbers would change with the machine.
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        if len(sys.argv) == 1 or path.stem in sys.argv[1:]:
            nbformat.write(execute(path), path)
            print(f"wrote {path}")
