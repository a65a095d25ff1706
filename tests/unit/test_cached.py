"""A property that is made once."""

from dataclasses import dataclass

from zolal._cached import cached_property


@dataclass(frozen=True, eq=False)
class Counted:
    made: list

    @cached_property
    def value(self):
        """What is made."""
        self.made.append(1)
        return len(self.made)


def test_the_value_is_made_once_per_instance_and_none_before_it_is_asked_for():
    one, other = Counted([]), Counted([])
    assert "value" not in one.__dict__
    assert (one.value, one.value, one.made) == (1, 1, [1])
    assert other.made == []


def test_what_stands_in_the_instance_is_the_value():
    one = Counted([])
    one.__dict__["value"] = 7
    assert (one.value, one.made) == (7, [])


def test_the_class_has_the_property_with_its_words():
    assert Counted.value.__doc__ == "What is made."
