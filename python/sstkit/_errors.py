"""Exceptions, one for each kind of error."""


class Error(Exception):
    """Any error of sstkit. The message says what happened, and where."""


class Io(Error, OSError):
    """An I/O error. Trying again may help."""


class NotFound(Io, FileNotFoundError):
    """A file or directory does not exist."""


class Corrupt(Error):
    """The bytes are not what any engine writes, or files do not match each other."""


class Unsupported(Error):
    """The file may be sound, but uses something that is not supported."""


class InvalidInput(Error, ValueError):
    """An argument is invalid, or contradicts another one."""


class Changed(Error):
    """The database is in use and changed while it was read. Open it again."""


for _class in (Error, Io, NotFound, Corrupt, Unsupported, InvalidInput, Changed):
    _class.__module__ = "sstkit"
