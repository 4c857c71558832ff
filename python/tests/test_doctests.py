"""The examples in all docstrings, including those of the native classes."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import emab
from emab import _emab

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# tests/client runs these against a service.
ELSEWHERE = ("emab.client", "emab.__main__")


def modules():
    names = ["emab", *(m.name for m in pkgutil.walk_packages(emab.__path__, "emab."))]
    return [name for name in names if name != "emab._emab" and not name.startswith(ELSEWHERE)]


def run(tests):
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in tests:
        runner.run(test)
    return runner.summarize(verbose=False)


@pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")
@pytest.mark.parametrize("name", modules())
def test_examples(name):
    module = importlib.import_module(name)
    tests = doctest.DocTestFinder().find(module, extraglobs={"emab": emab})
    assert run(tests).failed == 0


def native():
    parser = doctest.DocTestParser()
    for name, item in vars(_emab).items():
        members = [(name, item)]
        if inspect.isclass(item):
            members += [(f"{name}.{key}", member) for key, member in vars(item).items() if not key.startswith("__")]
        for place, member in members:
            text = inspect.getdoc(member)
            if text and ">>>" in text:
                yield parser.get_doctest(text, {"emab": emab}, place, None, 0)


def test_native_examples():
    tests = list(native())
    assert len(tests) >= 4
    result = run(tests)
    assert (result.failed, result.attempted > 8) == (0, True)


def test_every_public_name_has_a_docstring():
    for name in emab.__all__:
        item = getattr(emab, name)
        assert name == "__version__" or name.endswith("Like") or inspect.getdoc(item), name
