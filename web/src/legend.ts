/** What colours and signs mean. */
import { element, find, isolated } from "./dom";
import { groupTitle, labelParts } from "./format";
import type { Groups } from "./groups";
import { payload } from "./payload";
import { colours } from "./theme";
import type { View } from "./views";

export function drawLegend(view: View, groups: Groups, open: (group: number) => void): void {
  const signs = element("p", { class: "signs" });
  const hasSupport = payload.supports.some((it) => it !== null);
  const sure = hasSupport ? "Support: ● strong (from 90%), ◐ fair, ○ weak (below 50%). " : "";
  if (view === "tree") {
    const strength = payload.family === "tree" ? "Thicker edges are shorter." : "Thicker edges carry more information.";
    const isDashed = payload.supports.some((it) => it !== null && it < 0.5);
    signs.append(
      element("span", { class: "dot observed" }),
      "observed ",
      element("span", { class: "dot hidden-node" }),
      `hidden. ${strength}${isDashed ? " Dashed: support below 50%." : ""}${groups.all.length > 0 ? "" : " Colours: branches."}`,
    );
  } else if (view === "map") signs.append(`Colour: broad group. Bar: share of rows. Taller: more variables. ${sure}`);
  else signs.append(`${sure}Nats: what the group tells about its variables, in all.`);
  const chips = groups.broad.map((group) =>
    element(
      "li",
      {},
      element(
        "button",
        { type: "button", class: "link", title: labelParts(groups.all[group].label).join(" · "), click: () => open(group) },
        element("span", { class: "swatch", "aria-hidden": "true", "--swatch": groups.hue(group, colours()) }),
        isolated(groupTitle(groups.all[group].label, 26, 1)),
      ),
    ),
  );
  const colour = view === "tree" && chips.length > 0 && element("ul", { class: "colours", "aria-label": "Colours of groups" }, ...chips);
  find("legend").replaceChildren(signs, ...(colour ? [colour] : []));
}
