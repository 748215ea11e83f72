"""Which file declares a key: the one that has both its name and the beginning of its help as text."""

import re
from collections import Counter

FOLDERS = ("src", "include")
# Of a help, which may be put together from several texts, what is looked for.
BEGINNING = 24
PIECES = re.compile(r'"\s*\n\s*"')
COMMENTS = re.compile(r"^\s*//.*$", re.MULTILINE)


class Sources:
    def __init__(self, root):
        self.texts = {}
        for folder in FOLDERS:
            for path in sorted((root / folder).rglob("*.[ch]pp")):
                text = path.read_text(encoding="utf-8")
                if "Key" in text or "ParameterInfo" in text or "PartInfo" in text:
                    self.texts[str(path.relative_to(root))] = PIECES.sub("", COMMENTS.sub("", text))

    def having(self, key):
        """All files that say it so."""
        names = {key["name"], re.split(r"[.\]]", key["name"])[-1]}
        begin = '"' + key.get("help", "").replace('"', '\\"')[:BEGINNING]
        found = [path for path, text in self.texts.items() if begin in text]
        return [path for path in found if any(f'"{name}"' in self.texts[path] for name in names)] or found

    def of(self, keys):
        """Paths from the root, one a key of a part; where several files say it so, the one that most keys of
        the part are from, and none where that does not decide."""
        found = [self.having(key) for key in keys]
        sure = Counter(paths[0] for paths in found if len(paths) == 1)
        chosen = []
        for paths in found:
            most = max((sure[path] for path in paths), default=0)
            best = [path for path in paths if len(paths) == 1 or 0 < sure[path] == most]
            chosen.append(best[0] if len(best) == 1 else "")
        return chosen
