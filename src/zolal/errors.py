"""Exceptions and warnings of zolal; each exception is also the built-in that a caller would expect."""


class ZolalError(Exception):
    """Base of everything that zolal raises on purpose."""


class InvalidArgumentError(ZolalError, ValueError):
    """An argument lies outside its domain; the message names it and the value that was got."""


class UnsupportedError(ZolalError, NotImplementedError):
    """A combination that is not implemented; the message names the supported ones."""


class ObjectiveError(ZolalError, RuntimeError):
    """The user's function returned something that is not one real number."""


class ConstraintError(ZolalError, RuntimeError):
    """A user's constraint raised, or returned something that is not a finite vector of the expected length."""


class CheckpointError(ZolalError, RuntimeError):
    """A checkpoint cannot be written, read, or belongs to another run; the message names the folder and the difference."""


class DamagedError(CheckpointError):
    """A file of a checkpoint is not as it was written; the message names the file, the line, and what can be done."""


class ZolalWarning(UserWarning):
    """Base of every warning that zolal gives."""


class StartWarning(ZolalWarning):
    """The start was not taken as it was given."""


class CheckpointWarning(ZolalWarning):
    """A checkpoint could not be written in the middle of a run, which goes on."""


class SampleError(ZolalError, RuntimeError):
    """A user's `sample` raised."""


class DataError(ZolalError, OSError):
    """A file of public data is missing, cannot be had, or is not the expected one; the message says where it comes from and goes."""


class WorkerError(ZolalError, RuntimeError):
    """A process that worked for us died."""


class CommandError(ZolalError, RuntimeError):
    """A program that evaluates for us failed, or wrote no value; the message says how it ended and its last words."""
