"""What a paper is as a publication: the version that is quoted, how to cite it, what came after.

No torch.
"""

import datetime
from dataclasses import dataclass


@dataclass(frozen=True)
class Publication:
    """A paper on arXiv, in the version that is quoted.

    title    its title in that version
    authors  their full names, in order
    arxiv    its number: "2306.00802"
    version  the version that is quoted, from 1
    date     the day on which that version was submitted
    venue    where else it was published: "NeurIPS 2023"; may be empty
    code     its authors' code as it was read: each repository on GitHub, and the commit
    measured_errata, code_differs
             drawings, "experiment.drawing", that are tables of four columns: errata with what a run
             measured of them; where its text and its authors' code differ
    later    what came with later versions, in sentences; empty if there is none. From the paper's
             words
    """

    title: str
    authors: tuple[str, ...]
    arxiv: str
    version: int
    date: datetime.date
    venue: str = ""
    code: tuple[tuple[str, str], ...] = ()
    measured_errata: str = ""
    code_differs: str = ""
    later: str = ""

    @property
    def url(self) -> str:
        """The address of the version that is quoted."""
        return f"https://arxiv.org/abs/{self.arxiv}v{self.version}"

    @property
    def bibtex(self) -> str:
        """The entry for a list of references."""
        surname = self.authors[0].split()[-1].lower()
        first_word = self.title.split()[0].lower().strip(":").replace("-", "")
        fields = {
            "title": f"{{{self.title}}}",
            "author": " and ".join(self.authors),
            "year": str(self.date.year),
            "eprint": f"{self.arxiv}v{self.version}",
            "archivePrefix": "arXiv",
            "url": self.url,
        }
        if self.venue:
            fields["note"] = self.venue
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        return f"@misc{{{surname}{self.date.year}{first_word},\n{lines}\n}}"


def software_bibtex(name: str, version: str, year: int, about: str) -> str:
    """Return the entry of a piece of software for a list of references."""
    fields = {"title": f"{{{name}}}: {about}", "version": version, "year": str(year)}
    lines = ",\n".join(f"  {field} = {{{value}}}" for field, value in fields.items())
    return f"@software{{{name},\n{lines}\n}}"


@dataclass(frozen=True)
class FollowUp:
    """A later paper that goes on from this one, or speaks against it.

    title, authors  "Musat et al."
    year
    arxiv           its number
    experiment      the name of the experiment that speaks to it, of the same paper
    here            what speaks to it in this app, in a sentence; from the paper's words
    """

    title: str
    authors: str
    year: int
    arxiv: str
    experiment: str
    here: str = ""

    @property
    def url(self) -> str:
        """The address of its newest version."""
        return f"https://arxiv.org/abs/{self.arxiv}"
