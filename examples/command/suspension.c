/* A quarter of a car on a random road: how uncomfortable is a spring and a damper?
 *
 *     cc -O2 -o suspension suspension.c -lm
 *     ./suspension point.json value.json 7
 *
 * point.json holds [stiffness in 10 kN/m, damping in kNs/m], value.json gets the mean square of the body's acceleration and of the tyre's
 * load. The last argument is the seed of the road, so the same road can be driven again with another design.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long long word; /* of splitmix64 */

static double uniform(void) {
    unsigned long long z = (word += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return ((z ^ (z >> 31)) >> 11) * (1.0 / 9007199254740992.0);
}

int main(int count, char **words) {
    double stiffness, damping;
    if (count != 4) return fprintf(stderr, "usage: suspension INPUT OUTPUT SEED\n"), 2;
    FILE *in = fopen(words[1], "r");
    if (!in || fscanf(in, " [ %lf , %lf ]", &stiffness, &damping) != 2) return fprintf(stderr, "no point in %s\n", words[1]), 3;
    fclose(in);
    word = strtoull(words[3], NULL, 10);

    const double body = 300, wheel = 40, tyre = 180e3, step = 5e-4, k = 1e4 * stiffness, c = 1e3 * damping;
    double road = 0, x = 0, v = 0, y = 0, w = 0, comfort = 0, load = 0; /* body x, v; wheel y, w */
    const int steps = 40000;
    for (int i = 0; i < steps; i++) {
        road += -0.3 * step * road + 0.02 * sqrt(step) * sqrt(12.0) * (uniform() - 0.5);
        double force = k * (y - x) + c * (w - v), push = tyre * (road - y);
        double a = force / body, b = (push - force) / wheel;
        v += step * a, w += step * b; /* semi-implicit Euler */
        x += step * v, y += step * w;
        comfort += a * a / steps, load += push * push / steps;
    }
    FILE *out = fopen(words[2], "w");
    if (!out) return fprintf(stderr, "cannot write %s\n", words[2]), 4;
    fprintf(out, "{\"value\": %.17g}\n", comfort + 4e-6 * load);
    return fclose(out) ? 4 : 0;
}
