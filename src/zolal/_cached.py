"""A property that is made once: that of functools without its lock, which takes longer than most of what is kept.

From Python 3.12 on functools has none either; once 3.11 is no longer supported, this file can go.
"""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - as functools names its own
    """The function's value at the first time, kept in the instance, where later times find it. Threads may each make it once.

    >>> class Circle:
    ...     radius = 2.0
    ...
    ...     @cached_property
    ...     def area(self) -> float:
    ...         return 3.14 * self.radius**2
    >>> Circle().area
    12.56
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function, self.name, self.__doc__ = function, function.__name__, function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.function(instance)
        return value
