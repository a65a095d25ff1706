#!/bin/sh
# The strength of concrete by its mix, with a minus: {"cement": 0.2, "sand": 0.7, "water": 0.1} in file $1, a number to file $2.
# A press that breaks a cube measures with an error of a few hundredths.
tr -d '{}" \n' < "$1" | tr ',' '\n' | awk -F: -v seed="$$" '
    { share[$1] = $2 }
    END {
        srand(seed)
        noise = 0
        for (i = 0; i < 12; i++) noise += rand()
        ratio = share["water"] / share["cement"]
        gravel = (share["sand"] - 0.62) / 0.3
        print -(60 * exp(-1.5 * ratio) * (1 - exp(-6 * ratio)) * (1 - gravel * gravel) * (0.6 + share["cement"])) + 0.03 * (noise - 6)
    }' > "$2"
