"""How loops are compiled by numba: to files that later runs load, and without Python's lock.

A function's machine code is kept with a digest of its module's source and of those of all modules
that it imports, directly or not: functions and constants of these may be compiled into it. Numba by
itself looks at the function's own file alone. Sources that change while a process runs may not be
those that it has read: it keeps nothing of them. Functions that a program writes are kept by their
text.

The files are in folder ``numba`` of the cache, or in ``$NUMBA_CACHE_DIR``; where no folder can be
written to, functions are compiled in each process.

With ``NUMBA_DISABLE_JIT=1`` they stay Python's, for its debugger, and where compiling takes longer.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit, types
from numba.core.caching import IndexDataCacheFile, NullCache
from numba.core.compiler import CompileResult
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from gnarl.sw.program.cache import digest_of
from gnarl.sw.program.cache_contents import MACHINE_CODE, cache_folder, note_use, prune_if_due
from gnarl.sw.program.paths import PACKAGE

Function = TypeVar("Function", bound=Callable[..., Any])

_DIGEST = hashlib.sha256().digest_size

_BEGAN = time.time()

_IMPORT = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+(gnarl(?:\.\w+)*)"
    r"(?:[ \t]+import[ \t]+(\([^)]*\)|[^\n]*))?",
    re.MULTILINE,
)
"""A module or package, and the names that are imported from it, which may be modules."""


def compiled(function: Function) -> Function:
    """Compiles a function that creates arrays."""
    return _kept(function, _nrt=True)


def in_place(function: Function) -> Function:
    """Compiles a function that creates no arrays: without numba's reference counts, which cost more
    than the work of small functions."""
    return _kept(function, _nrt=False)


def compiled_inner(function: Function) -> Function:
    """Compiles as ``compiled`` does, for functions that only compiled ones call: quicker to
    compile."""
    return _inner(function, _nrt=True)


def inner(function: Function) -> Function:
    """Compiles as ``in_place`` does, for functions that only compiled ones call: quicker to
    compile."""
    return _inner(function, _nrt=False)


def inner_integers(function: Function) -> Function:
    """Compiles as ``inner`` does, once for all constants, integers and truth values that it is
    called with."""
    return _once_for_integers(_inner(function, _nrt=False), function)


def inlined_integers(function: Function) -> Function:
    """Compiles as ``inner_integers`` does, into each of the functions that call it: for what is
    called so often that calls take most of its time."""
    return _once_for_integers(_inner(function, _nrt=False, forceinline=True), function)


def _once_for_integers(dispatcher: Any, function: Function) -> Function:
    if dispatcher is not function:  # else numba is turned off
        template = dispatcher.get_call_template
        dispatcher.get_call_template = lambda arguments, names: template(
            tuple(map(_as_integer, arguments)), names
        )
    return cast(Function, dispatcher)


def _as_integer(type: Any) -> Any:
    plain = types.unliteral(type)
    return types.int64 if isinstance(plain, types.Boolean | types.Integer) else plain


def inner_floats(function: Function) -> Function:
    """Compiles as ``inner`` does, with division by zero as in IEEE 754 instead of
    ``ZeroDivisionError``."""
    return _inner(function, _nrt=False, error_model="numpy")


@intrinsic
def _elements(typing_context: Any, array: Any) -> Any:
    def pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), pointer


elements: Any = (lambda array: array) if cast(Any, config).DISABLE_JIT else _elements
"""In a compiled function, the elements of an array without its length: what takes these as an
argument is quicker to call and to compile. Indices must be 0 or more, and less than the length."""


def stage(function: Function) -> Function:
    """Marks a part of one compiled function: numba reads them as if they were written there."""
    return _kept(function, inline="always")


@cache
def compiled_text(text: str, name: str) -> Callable[..., Any]:
    """Compiles a function of a module's text, which imports nothing of this project. It creates no
    arrays; what it divides by zero is as in IEEE 754.

    No loop becomes one over vectors: of some that may return early, LLVM 20 makes code that reads
    behind their arrays.
    """
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "_nrt": False,
        "no_cfunc_wrapper": True,
    }
    settings = {"LOOP_VECTORIZE": 0}
    digest = digest_of(text, name, repr(options), repr(settings))
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, f"<{digest}>", "exec"), names)
    function = names[name]
    function.__qualname__ = f"{name}_{digest}"  # symbols of a process must differ
    dispatcher: Any = njit(**options)(function)
    if dispatcher is not function:  # else numba is turned off
        dispatcher._cache = _TextCache(bytes.fromhex(digest))

    def run(*arguments: Any) -> Any:
        with _set(settings):
            return dispatcher(*arguments)

    return run


def _inner(function: Function, **options: Any) -> Function:
    return _kept(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def _kept(function: Function, **options: Any) -> Function:
    with _set({"CACHE_DIR": _folder()}):
        try:
            dispatcher: Any = njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # no folder can be written to
            return cast(Function, njit(nogil=True, **options)(function))
    if dispatcher is function:  # numba is turned off: NUMBA_DISABLE_JIT
        return function
    kept: Any = dispatcher._cache
    source = Path(function.__code__.co_filename).resolve()
    stamp = partial(_sources_digest, source)
    kept._cache_file = _CheckedFile(stamp, kept.cache_path, kept._impl.filename_base)
    return cast(Function, dispatcher)


@contextmanager
def _set(settings: Mapping[str, Any]) -> Iterator[None]:
    """Has numba's configuration be otherwise for a while."""
    before = {name: getattr(config, name) for name in settings}
    vars(config).update(settings)
    try:
        yield
    finally:
        vars(config).update(before)


def _folder() -> str:
    """Where numba keeps files: in the cache, unless its user has named a folder."""
    settings: Any = config
    return str(settings.CACHE_DIR or cache_folder() / MACHINE_CODE)


class _CheckedFile(IndexDataCacheFile):
    """The index and the machine code of one function, which begin with digests: numba would run
    what is damaged. Such a file is one that is missing, and so is one of other sources."""

    def __init__(self, digest: Callable[[], bytes], folder: str, name: str) -> None:
        super().__init__(folder, f"{name}.checked", None)
        self._digest = digest

    def _load_index(self) -> dict[Any, str]:
        return self._read(self._index_path) or {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, overloads)

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        try:
            content = Path(path).read_bytes()
        except OSError:
            return None
        digest, octets = content[:_DIGEST], content[_DIGEST:]
        if hashlib.sha256(octets).digest() != digest:
            warnings.warn(f"{path}: damaged cache entry: made again", stacklevel=2)
            return None
        stamp = self._stamp()
        if not stamp or not octets.startswith(stamp):
            return None
        note_use(Path(path))
        return pickle.loads(octets[len(stamp) :])

    def _write(self, path: str, content: Any) -> None:
        stamp = self._stamp()
        if not stamp:
            return
        octets = stamp + self._dump(content)
        # What a full disk does not keep is compiled again.
        with suppress(OSError), self._open_for_write(path) as file:
            file.write(hashlib.sha256(octets).digest() + octets)
        prune_if_due()

    def _stamp(self) -> bytes:
        """What a file must begin with: only of this version of numba are its types those of today.
        Empty: nothing is kept."""
        digest = self._digest()
        return digest and self._version.encode() + digest


class _TextCache(NullCache):
    """What is kept of a function that is in no file of sources."""

    def __init__(self, digest: bytes) -> None:
        self._folder = Path(_folder(), "texts")
        self._file = _CheckedFile(lambda: digest, str(self._folder), digest.hex())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        kept = self._file.load(self._key(sig, target_context.codegen()))
        return None if kept is None else CompileResult._rebuild(target_context, *kept)

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
        self._file.save(self._key(sig, data.codegen), data._reduce())

    def _key(self, types: Any, codegen: Any) -> tuple[Any, ...]:
        return types, codegen.magic_tuple()


@cache
def _sources_digest(source: Path) -> bytes:
    """The digest of a module's file and the files of all modules of this project that it imports;
    empty if they have changed since the process began, or if no import is seen: there is that of
    this module."""
    if not _imported(source):
        return b""
    files, new = {source}, [source]
    while new:
        imported = _imported(new.pop()) - files
        files |= imported
        new += imported
    digest = hashlib.sha256(b"".join(map(_digest, sorted(files)))).digest()
    return b"" if any(path.stat().st_ctime > _BEGAN for path in files) else digest


@cache
def _digest(source: Path) -> bytes:
    return hashlib.sha256(source.read_bytes()).digest()


@cache
def _imported(source: Path) -> set[Path]:
    text = re.sub(r"#.*", "", source.read_text(encoding="utf-8"))
    return {file for name, members in _IMPORT.findall(text) for file in _files(name, members)}


def _files(name: str, members: str) -> Iterator[Path]:
    """Files of a module and the packages that it is in, or of a package and modules among
    ``members``."""
    yield from _module(name)
    if _place(name).is_dir():
        for member in re.findall(r"\w+", members):
            yield from _module(f"{name}.{member}")


@cache
def _module(name: str) -> tuple[Path, ...]:
    place = _place(name)
    packages = (each / "__init__.py" for each in (place, *place.parents[: name.count(".")]))
    files = filter(Path.is_file, (place.with_suffix(".py"), *packages))
    return tuple(file.resolve() for file in files)


def _place(name: str) -> Path:
    return PACKAGE.joinpath(*name.split(".")[1:])
