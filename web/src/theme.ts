/** Light and dark: the system's choice until the reader makes one. */
import { announce, find } from "./dom";

export interface Colours {
  background: string;
  ink: string;
  muted: string;
  line: string;
  accent: string;
  halo: string;
  /** Of broad groups, or of branches where there are none. */
  branches: string[];
  /** Behind cells of the map, mixed with a group's colour. */
  tint: number;
}

const LIGHT: Colours = {
  background: "#fdfcfa",
  ink: "#20262b",
  muted: "#68727a",
  line: "#aab3b8",
  accent: "#0b6e63",
  halo: "#0b6e6333",
  tint: 0.14,
  branches: ["#1c7a70", "#a8622a", "#5a61b5", "#a84a70", "#5f7d2a", "#2d76a8", "#8a5aa0", "#a8812a", "#4d6b7d", "#b0523f", "#3f8f4f", "#7b4bb8", "#8c6b50", "#c23b6b", "#2f8f9d", "#7d7a1f", "#4a55d0", "#b05f95", "#5b7f6a", "#96502f"],
};

const DARK: Colours = {
  background: "#15191c",
  ink: "#e8e6e1",
  muted: "#98a2a8",
  line: "#5b666d",
  accent: "#58c9b9",
  halo: "#58c9b940",
  tint: 0.2,
  branches: ["#58c0b2", "#d99a62", "#9aa0ee", "#e086ab", "#a3c266", "#70b5e2", "#c297d8", "#d9b45e", "#93b1c2", "#e58a77", "#7fcf8c", "#b594f0", "#c9a98d", "#f07ca2", "#6fcbd8", "#bdb957", "#98a4ff", "#dba0c8", "#9dbfab", "#d08b66"],
};

type Choice = "light" | "dark";
const KEY = "latentree-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];
let isPrinting = false;

function stored(): Choice | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    // A page from disk may have no storage.
    return null;
  }
}

let choice: Choice | null = stored();

export function isDark(): boolean {
  return choice ? choice === "dark" : system.matches;
}

export function colours(): Colours {
  if (isPrinting) return { ...LIGHT, background: "#ffffff" };
  return isDark() ? DARK : LIGHT;
}

function apply(): void {
  if (choice) document.documentElement.dataset.theme = choice;
  const button = find("theme");
  const next = isDark() ? "light" : "dark";
  button.textContent = isDark() ? "☀" : "☾";
  button.setAttribute("aria-label", `Switch to the ${next} theme`);
  button.title = `Switch to the ${next} theme`;
  for (const listener of listeners) listener();
}

export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

export function startTheme(): void {
  find("theme").addEventListener("click", () => {
    choice = isDark() ? "light" : "dark";
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // It holds for as long as the page is open.
    }
    apply();
    announce(`${choice} theme`);
  });
  system.addEventListener("change", apply);
  addEventListener("beforeprint", () => {
    isPrinting = true;
    for (const listener of listeners) listener();
  });
  addEventListener("afterprint", () => {
    isPrinting = false;
    for (const listener of listeners) listener();
  });
  apply();
}
