"""Runs the notebooks and keeps what they show: ``python python/tools/notebooks.py [NAME...]``."""

import sys
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"


def execute(path: Path, seconds: int = 600) -> nbformat.NotebookNode:
    """Run a notebook in a kernel of this very Python, whatever kernels are installed."""
    notebook = nbformat.read(path, as_version=4)
    manager = AsyncKernelManager()
    manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=seconds,
        resources={"metadata": {"path": str(path.parent)}},
        # When a cell ran is nobody's business and would change with every run.
        record_timing=False,
    )
    client.execute()
    # The version of Python and the like would change with the machine.
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        if len(sys.argv) == 1 or path.stem in sys.argv[1:]:
            nbformat.write(execute(path), path)
            print(f"wrote {path}")
