import { useSyncExternalStore } from "react";
import { readPreferences, writePreferences, type Preferences } from "../core/preferences";
import { Signal } from "../core/signal";

const signal = new Signal();
let kept = readPreferences(localStorage);

/** show applies the user's preferences to the page. */
export function show(preferences: Preferences) {
  if (preferences.theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = preferences.theme;
  if (preferences.still) document.documentElement.dataset.motion = "none";
  else delete document.documentElement.dataset.motion;
}

export function usePreferences(): [Preferences, (change: Partial<Preferences>) => void] {
  const now = useSyncExternalStore(signal.subscribe, () => kept);
  return [now, (change) => {
    kept = { ...kept, ...change };
    writePreferences(localStorage, kept);
    show(kept);
    signal.touch();
    signal.flush();
  }];
}

show(kept);
