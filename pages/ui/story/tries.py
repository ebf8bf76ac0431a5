"""What there is to try, and where the tours begin: every one a link."""

import streamlit as st

from icl_core.contract import knobs
from icl_core.contract.story import Try
from pages.ui.link import address, same_tab_links
from pages.ui.link.address import Setting
from pages.ui.story import tour


def offer(setting: Setting) -> None:
    """A menu of what to try here, and of the tours."""
    if setting.lesson is not None:  # which it would leave
        return
    found = setting.experiment.story.tries if setting.experiment.story else ()
    with st.popover("Try", type="tertiary", width="content"):
        paper = setting.id.partition(".")[0]
        links = (same_tab_links.link(paper, each.say, query(setting, each)) for each in found)
        st.html(f'<ul class="tries">{"".join(f"<li>{link}</li>" for link in links)}</ul>')
        for name in (paper, tour.ALL):
            tour.offer(name)


def query(setting: Setting, what: Try) -> dict[str, str]:
    """The address of something to try, on its paper's page; what equals the preset's is
    left out."""
    presets = {preset.name: preset for preset in setting.experiment.presets}
    preset = presets[what.preset] if what.preset else setting.experiment.presets[0]
    base = {
        **knobs.values(preset.config),
        **knobs.values(address.base_view(setting.experiment, preset)),
    }
    fields = {
        name: address.value_text(value)
        for name, value in what.fields.items()
        if value != base[name]
    }
    own = {"experiment": setting.name} | (
        {"preset": preset.name} if preset != setting.experiment.presets[0] else {}
    )
    own |= {"step": str(what.step)} if what.step is not None else {}
    own |= {"drawer": what.drawer} if what.drawer else {}
    own |= {"marks": ",".join(what.marks)} if what.marks else {}
    return address.lasting_query() | own | fields
