"""The workloads: the same computation in every Python API (*dialect*).

A module with one has a `base.Workload` as WORKLOAD, and the workload has the file's name; a module with several has
WORKLOADS, {name: base.Workload}. Or it is a file of functions (`functions`), which may also stand outside this package.
"""

import re
import traceback
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from stackwars.measure.workloads.base import ProgramFileError, Workload
from stackwars.measure.workloads.sized import AT, titled

PROGRAM_FILES: set[str] = set()
"""The program files that this process has read."""
_ONE = re.compile(r"^WORKLOAD = ", re.MULTILINE)
_SEVERAL = re.compile(r"^WORKLOADS = \{(.*?)\}", re.MULTILINE | re.DOTALL)
_FUNCTIONS = re.compile(r"^(def inputs\(|inputs = |INPUTS = )", re.MULTILINE)


def names() -> list[str]:
    """Return the names of all workloads, in the order of the paper's tables."""
    return sorted(_declared(tuple(__path__)), key=lambda name: (load(name).ORDER, name))


def load(name: str) -> Workload:
    """Return the workload of this name, or the one that a file of functions outside this package declares.

    name: a workload's, perhaps at other sizes (mha@b8, see `sized`), or the path of a program file (x/softmax.py).

    Raises ValueError if there is none, and ImportError that names its file if that cannot be imported.
    """
    if name.endswith(".py"):
        path = Path(name).resolve()
        return _read(path, "", path.stat().st_mtime_ns if path.exists() else 0)
    name, _, label = name.partition(AT)
    if label:
        return titled(load(name), label)
    declared = _declared(tuple(__path__))
    if name not in declared:
        raise ValueError(
            f"workload: expected one of {', '.join(names())}, got {name!r}; "
            f"fix: check the spelling, or declare it in stackwars/measure/workloads/{name}.py"
        )
    try:
        file = declared[name]
        if _FUNCTIONS.search(file.read_text()):
            return _read(file, f"{__name__}.{name}", file.stat().st_mtime_ns)
        module = import_module(f"{__name__}.{file.stem}")
        return module.WORKLOADS[name] if hasattr(module, "WORKLOADS") else module.WORKLOAD
    except Exception as error:
        raise ImportError(f"workload {name}: {declared[name]}: {error}; fix: that file") from error


def build(workload: str | Workload, dialect: str) -> Callable:
    """Return the function (sizes, seed, put) that builds a workload's form, having imported what it needs.

    In an array dialect it returns (weights, function of them and the inputs), in torch a module. It raises
    NotImplementedError, with the reason, if there is no such form. put: places a NumPy array on the device.
    """
    result = load(workload) if isinstance(workload, str) else workload
    if why := result.NO_FORM.get(dialect):
        return partial(_refuse, why)
    if not result.has_form(dialect):
        raise ValueError(
            f"workload: expected a form in {dialect} or a reason in NO_FORM, got neither; "
            f"fix: {type(result).__module__}"
        )
    module = import_module(_builder(result, dialect))
    result.preload(dialect)
    return partial(module.build, result)


def sources(workload: str | Workload, dialect: str) -> list[str]:
    """Return the modules that decide a workload's form: its own, and the one that builds it."""
    result = load(workload) if isinstance(workload, str) else workload
    own = result.modules()
    return own if dialect in result.NO_FORM else [*own, _builder(result, dialect)]


def file_of(workload: str) -> str:
    """Return the file that declares a workload, relative to the repository."""
    name = workload.partition(AT)[0]
    file = _declared(tuple(__path__)).get(name)
    return f"src/stackwars/measure/workloads/{file.name if file else name + '.py'}"


def user_line(problem: BaseException) -> str:
    """Return "file:line: " of the last line of a program file that an exception passed; "" if it passed none."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(problem.__traceback__)]
    found = [f"{Path(file).name}:{line}: " for file, line in frames if file in PROGRAM_FILES]
    return found[-1] if found else ""


def description(problem: BaseException) -> str:
    """Return an exception's type and message, after the line of a program file that it comes from."""
    if isinstance(problem, ProgramFileError):
        return str(problem)
    return f"{user_line(problem)}{type(problem).__name__}: {problem}"


def _builder(workload: Workload, dialect: str) -> str:
    return f"{__name__}.{workload.BUILDER}_{dialect}"


def _refuse(why: str, *_: Any) -> NoReturn:
    raise NotImplementedError(why)


@cache
def _declared(folders: tuple[str, ...]) -> dict[str, Path]:
    """Return {name: file} of the workloads that are declared in these folders, without importing anything."""
    result = {}
    for file in (file for folder in folders for file in sorted(Path(folder).glob("*.py"))):
        text = file.read_text()
        if several := _SEVERAL.search(text):
            result |= dict.fromkeys(re.findall(r'"(\w+)":', several[1]), file)
        elif _ONE.search(text) or _FUNCTIONS.search(text):
            result[file.stem] = file
    return result


@cache
def _read(path: Path, name: str, changed_ns: int) -> Workload:
    """Return the workload of a program file as it was at this time."""
    # Not an import statement: this module is a source of every workload, `functions` only of program files.
    return import_module(f"{__name__}.functions").read(path, name)
