"""Pages of stories, parsed, and plain data."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """The elements of a page, and the texts of posts in it."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.ids, self.targets, self.texts = [], [], [], []
        self._depth = 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.tags.append((tag, known))
        self.ids += [known["id"]] if "id" in known else []
        self.targets += [known["href"]] if "href" in known else []
        if known.get("class") == "ww-text":
            self.texts.append("")
            self._depth = 1
        elif self._depth and tag == "div":
            self._depth += 1

    def handle_endtag(self, tag):
        if self._depth and tag == "div":
            self._depth -= 1

    def handle_data(self, data):
        if self._depth:
            self.texts[-1] += data


def is_plain(value):
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    return value is None or type(value) in (str, int, float, bool)
