"""What the checks of packages share."""
import os
import subprocess
import sys

SKIPPED = 77  # as CMakeLists.txt tells ctest


def run(*words, **options):
    """The output of a command that must succeed."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    assert done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def files_below(folder):
    """All files and links below a folder, relative to it."""
    return {os.path.relpath(os.path.join(place, name), folder)
            for place, _, names in os.walk(folder) for name in names}
