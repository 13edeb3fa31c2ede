/** Elements, made without markup: text is only ever text. */
type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name === "class") made.className = String(value);
    else if (name.startsWith("--")) made.style.setProperty(name, String(value));
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(
    ...children
      .filter((child): child is Node | string | number => child !== null && child !== undefined && child !== false)
      .map((child) => (typeof child === "number" ? String(child) : child)),
  );
  return made;
}

export function find<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  return found as T;
}

/** A user's text whose direction does not disturb what stands around it. */
export function isolated(text: string, attributes: Attributes = {}): HTMLElement {
  return element("bdi", attributes, text);
}

/** Says something to those who listen rather than look. */
export function announce(text: string): void {
  find("live").textContent = text;
}
