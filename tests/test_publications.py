"""What papers are as publications, and what came after them."""

import datetime
import re

import pytest

from icl_core import registry
from icl_core.contract.publication import Publication

PAPERS = {name: paper for name, paper in registry.papers().items() if paper.publication}


@pytest.mark.parametrize("name", PAPERS)
def test_every_paper_knows_the_version_that_it_quotes(name: str):
    publication = PAPERS[name].publication
    assert publication is not None
    assert re.fullmatch(r"\d{4}\.\d{5}", publication.arxiv)
    month = datetime.datetime.strptime(publication.arxiv[:4], "%y%m").date()
    assert publication.date >= month
    assert publication.url == f"https://arxiv.org/abs/{publication.arxiv}v{publication.version}"
    assert PAPERS[name].authors.split(", ")[0] in publication.authors[0]


@pytest.mark.parametrize("name", PAPERS)
def test_what_came_after_names_an_experiment_that_speaks_to_it(name: str):
    paper = PAPERS[name]
    assert len(paper.follow_ups) >= 3
    for later in paper.follow_ups:
        assert re.fullmatch(r"\d{4}\.\d{5}", later.arxiv), later
        assert later.experiment in paper.experiments and later.here.endswith(".")
        assert 2000 + int(later.arxiv[:2]) == later.year


def test_an_entry_for_references_names_all_that_finds_the_paper_again():
    publication = Publication(
        "A title: of two parts", ("Ann Bee", "Cee Dee"), "2101.00001", 3, datetime.date(2021, 5, 4)
    )
    assert publication.bibtex == (
        "@misc{bee2021a,\n"
        "  title = {{A title: of two parts}},\n"
        "  author = {Ann Bee and Cee Dee},\n"
        "  year = {2021},\n"
        "  eprint = {2101.00001v3},\n"
        "  archivePrefix = {arXiv},\n"
        "  url = {https://arxiv.org/abs/2101.00001v3}\n"
        "}"
    )
