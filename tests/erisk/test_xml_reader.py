"""Files of a collection: almost XML, with all irregularities."""

import xml.etree.ElementTree as ElementTree
from datetime import datetime
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erisk_files import individual, write
from watchword.data import Post
from watchword.data.times import sorted_by_time, trend
from watchword.erisk import read_erisk, readers
from watchword.erisk.readers import parse_individual, read_individual
from watchword.errors import DataFormatError


def parsed(content):
    data = content if isinstance(content, bytes) else content.encode()
    return parse_individual(data, source="file.xml")


def text_of(markup_text):
    return parsed(individual("ann", markup_text)).posts[0].text


def test_padding_of_values_is_stripped():
    found = parsed(individual("ann", "\n  Hello. \t\n", title="  Today "))
    assert found.id == "ann"
    assert found.posts == [Post("Hello.", title="Today", time=datetime(2016, 1, 1, 10))]


def test_titles_and_texts_may_be_empty():
    assert parsed(individual("ann", "", title="")).posts[0].content == ""


def test_a_subject_may_have_no_writings_in_a_file():
    assert parsed("<INDIVIDUAL>\n<ID>ann</ID>\n</INDIVIDUAL>\n") == ("ann", [])


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("I don #8217;t", "I don’t"),
        ("I don#8217;t", "I don’t"),
        (" #8220;So #8221;", "“So”"),
        ("so #8230; #8221; he said", "so…” he said"),
        ("zero #x200B;width", "zero\u200bwidth"),
        ("smile #128578;", "smile🙂"),
        ("cats  amp; dogs", "cats & dogs"),
        ("R amp;B", "R&B"),
        ("love u  lt;3", "love u <3"),
        ("gt; quoted", "> quoted"),
        ("(amp;)", "(&)"),
    ],
)
def test_references_that_lost_their_ampersand_are_repaired(written, meant):
    assert text_of(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("I don&#8217;t", "I don’t"),
        ("I don&#x2019;t", "I don’t"),
        ("a &lt; b &amp;&amp; b &gt; c", "a < b && b > c"),
        ("&quot;caf&eacute;&quot;", '"café"'),
        ("&#146;", "’"),
        ("&#0;", "\ufffd"),
        ("&#xD800;", "\ufffd"),
    ],
)
def test_correct_references_are_decoded(written, meant):
    assert text_of(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("&amp;lt;", "&lt;"),
        ("&amp;amp;", "&amp;"),
        ("&amp;#8217;", "&#8217;"),
        ("&#38;gt;", "&gt;"),
        (" amp;lt;", "&lt;"),
        ("amp;#8217;", "&#8217;"),
    ],
)
def test_references_are_decoded_once(written, meant):
    assert text_of(written) == meant


@pytest.mark.parametrize(
    "text",
    [
        "fish & chips",
        "AT&T; and &unknown; and &#;",
        "a <3 b, <b>bold</b>, </p> and <!-- no comment",
        "if (a < b && b > c) return;",
        "we came #12; they came #7;",
        "color: #333333; background: #123456;",
        "the camp; a default; gigs; ramp;",
        "<!DOCTYPE html> is how a page begins",
        "<![CDATA[ never closed",
        "</TITLE> and </DATE>",
        "an opening <TEXT> tag and a closing </TEXT> tag",
    ],
)
def test_text_that_looks_like_markup_is_kept(text):
    assert text_of(text) == text


def test_cdata_is_taken_literally():
    assert text_of("a &lt; <![CDATA[ b &lt; c <d> ]]> &gt; e") == "a <  b &lt; c <d>  > e"


def test_characters_that_xml_forbids_separate_words():
    assert text_of("bell\x07and\x00NUL\x0b!") == "bell and NUL !"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_encodings_need_not_be_declared(encoding):
    assert parsed(individual("ann", "café, déjà vu").encode(encoding)).posts[0].text == (
        "café, déjà vu"
    )


def test_text_around_an_invalid_byte_is_kept():
    data = individual("ann", "café BYTE naïve").encode().replace(b"BYTE", b"it\x92s")
    assert parsed(data).posts[0].text == "café it’s naïve"


def test_line_ends_are_those_of_xml():
    assert text_of("one\r\ntwo\rthree") == "one\ntwo\nthree"


def test_tags_may_have_attributes_blanks_and_any_case():
    content = individual("ann", "Hello.", title="Today").replace("<TEXT>", '<Text lang="en" >')
    content = content.replace("<INDIVIDUAL>", "<INDIVIDUAL  n='1'>").replace("</TEXT>", "</text>")
    assert parsed(content).posts[0].content == "Today\n\nHello."


def test_elements_may_be_missing_empty_or_in_another_order():
    content = "<?xml version='1.0'?><INDIVIDUAL><ID>ann</ID><WRITING><TEXT>Hello.</TEXT><TITLE/>"
    content += "<DATE>2016-01-01 10:00:00</DATE></WRITING><WRITING></WRITING></INDIVIDUAL>"
    assert parsed(content).posts == [Post("Hello.", time=datetime(2016, 1, 1, 10)), Post("")]


@pytest.mark.parametrize(
    "date", ["", "yesterday", "2016-02-30 10:00:00", "1/5/2016", "2016-01-01T10+00:00"]
)
def test_a_date_that_cannot_be_read_is_none(date):
    assert parsed(individual("ann", "Hello.", dates=[date])).posts[0].time is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "INDIVIDUAL is missing"),
        ("<html></html>", "INDIVIDUAL is missing"),
        (individual("ann", "Hello.")[:-5], "INDIVIDUAL is not closed"),
        (individual("ann", "Hello.").replace("</WRITING>", ""), "WRITING is not closed"),
        (individual("ann", "Hello.").replace("</TITLE>", ""), "TITLE is not closed"),
        (individual("ann", "Hello.").replace("</ID>", ""), "ID is not closed"),
        (individual("ann", "a") + individual("bob", "b"), "outside WRITING"),
    ],
)
def test_a_damaged_file_is_refused_by_name(content, reason):
    with pytest.raises(DataFormatError, match=f"file.xml: .*{reason}"):
        parsed(content)


BILLION_LAUGHS = (
    '<!DOCTYPE INDIVIDUAL [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)


def test_entities_are_not_expanded():
    assert text_of("&c; &lol9;") == "&c; &lol9;"


@pytest.mark.parametrize(
    "head",
    [
        BILLION_LAUGHS,
        '<?xml version="1.0"?>\n<!doctype INDIVIDUAL SYSTEM "http://127.0.0.1:9/x.dtd">',
        '<!DOCTYPE INDIVIDUAL [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
    ],
)
def test_document_types_are_refused(head):
    with pytest.raises(DataFormatError, match=r"file\.xml: document types are not allowed"):
        parsed(head + individual("ann", "&c; &x;"))


def test_an_external_entity_is_not_opened(tmp_path):
    secret = write(tmp_path / "secret.txt", "the secret")
    content = individual("ann", f'<!ENTITY x SYSTEM "{secret.as_uri()}"> &x;')
    assert "the secret" not in parsed(content).posts[0].text


def test_a_huge_attribute_is_dropped():
    content = individual("ann", "Hello.").replace("<TEXT>", f"<TEXT a='{'x' * 2_000_000}'>")
    assert parsed(content).posts[0].text == "Hello."


@pytest.mark.parametrize("piece", ["<WRITING>", "<![CDATA[", "<TEXT ", "</TEXT>", "&", " #", "<"])
def test_many_opening_tags_are_read_or_refused(piece):
    assert read_or_refused(individual("ann", piece * 100_000).encode())


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "LARGEST_FILE", 20)
    path = write(tmp_path / "ann.xml", individual("ann", "Hello."))
    with pytest.raises(DataFormatError, match=r"ann\.xml: larger than"):
        read_individual(path)


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(DataFormatError, match=r"nobody\.xml: No such file"):
        read_individual(tmp_path / "nobody.xml")


def read_or_refused(content):
    try:
        return all(isinstance(post.text, str) for post in parsed(content).posts)
    except DataFormatError as error:
        return str(error).startswith("file.xml: ")


ANYTHING = st.binary(max_size=200) | st.text(max_size=100).map(
    lambda text: text.encode("utf-8", "replace")
)


@given(ANYTHING)
def test_any_bytes_are_read_or_refused(data):
    assert read_or_refused(data)
    assert read_or_refused(individual("ann", "BYTES").encode().replace(b"BYTES", data))


# Without semicolons there are no references that could be taken for broken ones.
ORDINARY = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters=";\ufffe\uffff"), max_size=50
)


@given(ORDINARY, ORDINARY)
def test_valid_xml_is_read_like_an_xml_parser(title, text):
    content = individual("ann", escape(text), title=escape(title))
    strict = ElementTree.fromstring(content).find("WRITING")
    post = parsed(content).posts[0]
    assert (post.title, post.text) == tuple(
        (strict.find(name).text or "").strip() for name in ("TITLE", "TEXT")
    )


def posts_at(*hours):
    return [
        Post(str(place), time=None if hour is None else datetime(2016, 1, 1, hour))
        for place, hour in enumerate(hours)
    ]


def order(*hours):
    posts = posts_at(*hours)
    newest_first = trend(post.time for post in posts) < 0
    return [int(post.text) for post in sorted_by_time(posts, newest_first=newest_first)]


def test_posts_of_a_file_are_sorted_by_time():
    assert order(3, 2, 1) == [2, 1, 0]
    assert order(1, 2, 3) == [0, 1, 2]
    assert order(9, 7, 8, 5) == [3, 1, 2, 0]


def test_posts_of_the_same_second_stay_in_file_order():
    assert order(1, 2, 2, 3) == [0, 1, 2, 3]
    assert order(3, 2, 2, 1) == [3, 2, 1, 0]


def test_posts_without_a_time_stay_where_they_are():
    assert order(None, 1, None, 2) == [0, 1, 2, 3]
    assert order(4, None, 2, None, 1) == [4, 3, 2, 1, 0]
    assert order(5, None, 1, 2, 3) == [2, 3, 4, 0, 1]
    assert order(None, None) == [0, 1]


NEWEST_FIRST = {
    "UTC": ("2016-01-05T10:00:00Z", "2016-01-05T09:00:00Z"),
    "fractions of a second": ("2016-01-05 10:00:00.250", "2016-01-05 10:00:00.2"),
    "zones": ("2016-01-05T10:00:00+01:00", "2016-01-05T10:00:00+02:00"),
    "dates only": ("2016-01-05", "2016-01-04"),
    "no seconds": ("2016-01-05 10:01", "2016-01-05 10:00"),
    "mixed forms": ("2016-01-05T10:00:00Z", "2016-01-05 09:00", "2016-01-04"),
}


@pytest.mark.parametrize("dates", NEWEST_FIRST.values(), ids=NEWEST_FIRST)
def test_dates_of_any_common_form_put_the_oldest_post_first(tmp_path, dates):
    write(tmp_path / "ann.xml", individual("ann", *dates, dates=dates))
    [ann] = read_erisk(tmp_path)
    assert [post.text for post in ann.posts] == list(reversed(dates))
