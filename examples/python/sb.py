"""The C library of sb from Python, by ctypes: no package is needed.

    with Library(config) as sb:
        user = sb.sb_add_user({"first_name": "Ann"})

A Library belongs to one thread at a time. After os.fork() the child gets a connection of its own.
"""

import ctypes
import ctypes.util
import json


class SBError(Exception):
    """An error of the library: its code is stable, such as security-error."""

    def __init__(self, code, function, message):
        super().__init__(f"{function}: {message} ({code})")
        self.code, self.function, self.message = code, function, message


class Library:
    """An installation, and the connection to its database."""

    def __init__(self, config, path=None):
        path = path or ctypes.util.find_library("sb") or "libsb.so"
        library = ctypes.CDLL(path)
        library.sb_open.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        library.sb_open.restype = ctypes.c_void_p
        library.sb_call.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
        # Not c_char_p, which would be copied and then lost: the answer is to be freed.
        library.sb_call.restype = ctypes.c_void_p
        library.sb_free.argtypes = [ctypes.c_void_p]
        library.sb_free.restype = None
        library.sb_close.argtypes = [ctypes.c_void_p]
        library.sb_close.restype = None
        library.sb_version.restype = ctypes.c_char_p
        self._library = library
        text = json.dumps(config).encode()
        self._handle = library.sb_open(text, len(text))
        if not self._handle:
            raise ValueError("the configuration is no map")

    def version(self):
        return self._library.sb_version().decode()

    def call(self, function, *by_position, **by_name):
        """Calls a function with arguments by position or by name."""
        if by_position and by_name:
            raise TypeError("arguments are given by position or by name")
        if not self._handle:
            raise ValueError("the library is closed")
        text = json.dumps(by_name or by_position).encode()
        pointer = self._library.sb_call(self._handle, function.encode(), text, len(text))
        if not pointer:
            raise MemoryError
        try:
            answer = json.loads(ctypes.string_at(pointer))
        finally:
            self._library.sb_free(pointer)
        if "error" in answer:
            raise SBError(**answer["error"])
        return answer["ok"]

    def __getattr__(self, function):
        if not function.startswith("sb_"):
            raise AttributeError(function)
        return lambda *by_position, **by_name: self.call(function, *by_position, **by_name)

    def close(self):
        handle, self._handle = self._handle, None
        self._library.sb_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
