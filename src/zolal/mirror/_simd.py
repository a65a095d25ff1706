"""exp and log in double precision that LLVM turns into vector instructions: no branches, no tables, no library calls.

Only `contract` is allowed of the fast-math flags: it gives fused multiply-adds, whereas reassociation would fold
(a + 2^52) - 2^52 into a and with it the rounding that these functions rest on. Polynomials are summed in pairs (Estrin's
scheme) rather than one term after another, because these loops wait for results more than for arithmetic units.
"""

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

ROUNDER = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, which then sits in the low bits
INTEGERS = np.int64(0x4330000000000000)  # the bits of 2^52: an integer below 2^52 in the low bits reads as 2^52 + integer
SQRT_HALF = np.int64(0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)
ONE = np.int64(0x3FF0000000000000)  # the bits of 1
LOG2_HIGH, LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # log 2 in two parts
INVERSE_LOG2 = 1.44269504088896338700


@intrinsic
def bits_of(typingctx, x):
    """The 64 bits of a double."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def double_of(typingctx, bits):
    """The double with these 64 bits."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def shift_right(typingctx, bits, count):
    """Logical shift: vector units have no arithmetic one for 64 bits."""

    def codegen(context, builder, signature, args):
        return builder.lshr(args[0], args[1])

    return types.int64(types.int64, types.int64), codegen


inlined = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


@inlined
def exp(x):
    """e^x with x cut to [-700, 700]: x = k log 2 + f, then 2^k times the Taylor polynomial of e^f."""
    x = min(max(x, -700.0), 700.0)
    shifted = x * INVERSE_LOG2 + ROUNDER
    k = shifted - ROUNDER
    f = (x - k * LOG2_HIGH) - k * LOG2_LOW
    f2 = f * f
    f4 = f2 * f2
    low = (0.5 + f * (1.0 / 6.0)) + f2 * (1.0 / 24.0 + f * (1.0 / 120.0))
    middle = (1.0 / 720.0 + f * (1.0 / 5040.0)) + f2 * (1.0 / 40320.0 + f * (1.0 / 362880.0))
    high = (1.0 / 3628800.0 + f * (1.0 / 39916800.0)) + f2 * (1.0 / 479001600.0 + f * (1.0 / 6227020800.0))
    g = low + f4 * (middle + f4 * high)
    return double_of(bits_of(1.0 + (f + f2 * g)) + (bits_of(shifted) << np.int64(52)))


@inlined
def log_near_one(f):
    """log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)], the polynomial of fdlibm."""
    s = f / (2.0 + f)
    z = s * s
    z2 = z * z
    low = (6.666666666666735130e-01 + z * 3.999999999940941908e-01) + z2 * (2.857142874366239149e-01 + z * 2.222219843214978396e-01)
    g = low + z2 * z2 * ((1.818357216161805012e-01 + z * 1.531383769920937332e-01) + z2 * 1.479819860511658591e-01)
    half = 0.5 * f * f
    return f - (half - s * (half + g * z))


@inlined
def log(x):
    """log x for a positive normal x: x = 2^k (1 + f)."""
    bits = bits_of(x)
    exponent = shift_right(bits - SQRT_HALF + ONE, np.int64(52))
    k = double_of(exponent | INTEGERS) - 4503599627371519.0  # 2^52 + 1023
    f = double_of(bits - (exponent << np.int64(52)) + ONE) - 1.0
    return k * LOG2_HIGH + (log_near_one(f) + k * LOG2_LOW)


@inlined
def log_one_plus(x):
    """log(1 + x) for x in [0, 1]."""
    large = x > 0.41421356237309503
    f = 0.5 * (x - 1.0) if large else x
    return (LOG2_HIGH if large else 0.0) + (log_near_one(f) + (LOG2_LOW if large else 0.0))
