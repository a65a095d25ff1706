from dataclasses import dataclass
from typing import final

import numpy as np

from zolal._checks import positive_int
from zolal.problems.datasets._fetch import DataFile, Source

MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")
SUMS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
FILES = {
    name: DataFile(f"mnist/{name}", sha256, tuple(Source(f"{mirror}/{name}.gz") for mirror in MIRRORS)) for name, sha256 in SUMS.items()
}
PIXELS = 28 * 28
NUM_TRAIN = 60_000


@final
@dataclass(frozen=True, eq=False)
class Mnist:
    """Handwritten digits: images in [0, 1] as rows of 784 pixels, labels 0 to 9."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def mnist(num_train: int = NUM_TRAIN) -> Mnist:
    """MNIST: the first `num_train` of 60,000 training images (6 KB each in memory) and all 10,000 test images."""
    num_train = min(positive_int("mnist(num_train=...)", num_train), NUM_TRAIN)
    return Mnist(*read_part("train", num_train), *read_part("t10k"))


def read_part(part: str, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The first images and labels of "train" or "t10k"."""
    return _images(part, count), _labels(part, count)


def _images(part: str, count: int | None) -> np.ndarray:
    """The pixels come after a header of 16 bytes."""
    pixels = np.frombuffer(FILES[f"{part}-images-idx3-ubyte"].read(), dtype=np.uint8, offset=16)
    return pixels.reshape(-1, PIXELS)[:count] / 255.0


def _labels(part: str, count: int | None) -> np.ndarray:
    """The labels come after a header of 8 bytes."""
    return np.frombuffer(FILES[f"{part}-labels-idx1-ubyte"].read(), dtype=np.uint8, offset=8)[:count].astype(np.intp)
