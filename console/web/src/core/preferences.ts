// The user's preferences, stored in the browser.
export type Preferences = {
  theme: "system" | "light" | "dark";
  language: "system" | "en" | "de";
  /** Single letters are keys. */
  keys: boolean;
  /** Notifications of the browser; "ask": not decided yet. */
  notify: "ask" | "on" | "off";
  sound: boolean;
  /** Diffs side by side. */
  split: boolean;
  /** The sidebar is shown, where there is room for it. */
  sidebar: boolean;
  /** Less motion than the system asks for. */
  still: boolean;
};

const name = "harness.preferences";
const defaults: Preferences = { theme: "system", language: "system", keys: true, notify: "ask", sound: false, split: false, sidebar: true, still: false };

export function readPreferences(store: Pick<Storage, "getItem">): Preferences {
  try {
    return { ...defaults, ...(JSON.parse(store.getItem(name) ?? "{}") as Partial<Preferences>) };
  } catch {
    return defaults;
  }
}

export function writePreferences(store: Pick<Storage, "setItem">, preferences: Preferences) {
  store.setItem(name, JSON.stringify(preferences));
}
