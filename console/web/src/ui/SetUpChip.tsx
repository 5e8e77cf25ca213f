import { useEffect, useRef, useState } from "react";
import type { Answer, Runtime } from "../api/answers";
import { presetOf, presets, type Preset } from "../core/access";
import { agentName } from "../core/entries";
import type { Controls, Model } from "../core/types";
import { text } from "../text";
import { useClient } from "./hooks";
import { Icon } from "./Icon";
import { Layer } from "./Layer";
import { levels as all, type Level } from "./Pickers";

const words = text.start;

/** SetUp is what was chosen for a new session; what was not is the server's default. */
export type SetUp = { runtime: string; model: string; levels: Partial<Record<Level, string>> };
export type Access = Answer<"/api/setup">["access"];
type Props = { runtimes: Runtime[]; chosen: Runtime; access: Access | null; setUp: SetUp; change: (setUp: SetUp) => void };

/** useModels are those that a runtime offers, as far as they are known. */
function useModels(runtime: Runtime): Model[] {
  const client = useClient();
  const [models, setModels] = useState<Model[]>([]);
  const { name, state } = runtime;
  useEffect(() => {
    let current = true;
    setModels([]);
    if (state === "ready") client.models(name).then((offered) => current && setModels(offered), () => {}); // then there is nothing to choose from
    return () => void (current = false);
  }, [client, name, state]);
  return models;
}

/** usualLevels are those to begin with: what people chose for this server, else to ask first. */
export const usualLevels = (access: Access | null, runtime: Runtime): SetUp["levels"] => (access && !access.chosen ? (presets(runtime.capabilities).get("ask") ?? {}) : {});

function Rules({ chosen, setUp, change }: Props) {
  return (
    <details>
      <summary className="menu-item"><Icon name="sliders-horizontal" />{words.rules}</summary>
      {all.map(([name, capability, label]) => {
        const offered = (chosen.capabilities[capability] ?? []).filter((level) => level !== "on-failure");
        if (offered.length === 0) return null;
        return (
          <label key={name} className="field">{label}
            <select aria-label={label} value={setUp.levels[name] ?? ""} onChange={(e) => change({ ...setUp, levels: { ...setUp.levels, [name]: e.target.value } })}>
              <option value="">{words.standard}</option>
              {offered.map((level) => <option key={level}>{level}</option>)}
            </select>
          </label>
        );
      })}
    </details>
  );
}

/** chosenLevels drops what was set back to the default. */
const chosenLevels = (levels: SetUp["levels"]) => Object.fromEntries(Object.entries(levels).filter(([, value]) => value !== ""));

/** SetUpChip is the agent, the model and the access of a new session. */
export function SetUpChip(props: Props) {
  const { runtimes, chosen, setUp, change } = props;
  const chip = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const models = useModels(chosen);
  const offered = presets(chosen.capabilities);
  const levels = { ...props.access, ...usualLevels(props.access, chosen), ...setUp.levels } as Controls;
  const preset = presetOf(levels, offered);
  const model = models.find((m) => m.id === setUp.model) ?? models.find((m) => m.isDefault);
  const access = preset ? words.presets[preset] : Object.keys(setUp.levels).length > 0 ? words.custom : "";
  const set = (next: SetUp) => change({ ...next, levels: chosenLevels(next.levels) });
  return (
    <>
      <button ref={chip} type="button" className="chip boxed" aria-haspopup="dialog" aria-expanded={open} aria-label={`${words.setUp}: ${[agentName(chosen.name), model?.displayName, access].filter(Boolean).join(", ")}`} onClick={() => setOpen(!open)}>
        <span className="clip">{[agentName(chosen.name), model?.displayName, access].filter(Boolean).join(" · ")}</span><Icon name="chevron-down" />
      </button>
      {open && (
        <Layer anchor={chip} close={() => setOpen(false)} role="dialog" label={words.setUp} className="setup-pick">
          <label className="field">{words.agent}
            <select aria-label={words.agent} value={chosen.name} data-first onChange={(e) => set({ runtime: e.target.value, model: "", levels: {} })}>{runtimes.map((r) => <option key={r.name} value={r.name}>{agentName(r.name)}</option>)}</select>
          </label>
          {models.length > 0 && (
            <label className="field">{text.composer.model}
              <select aria-label={text.composer.model} value={setUp.model} onChange={(e) => set({ ...setUp, model: e.target.value })}>
                <option value="">{models.find((m) => m.isDefault)?.displayName ?? words.standard}</option>
                {models.filter((m) => !m.isDefault).map((m) => <option key={m.id} value={m.id}>{m.displayName}</option>)}
              </select>
            </label>
          )}
          {offered.size > 0 && <p className="group-name">{words.access}</p>}
          <div role="radiogroup" aria-label={words.access}>
            {[...offered].map(([name, values]) => <Choice key={name} name={name} checked={preset === name} pick={() => set({ ...setUp, levels: values })} />)}
          </div>
          <Rules {...props} change={set} />
        </Layer>
      )}
    </>
  );
}

function Choice({ name, checked, pick }: { name: Preset; checked: boolean; pick: () => void }) {
  return (
    <label className="preset" data-checked={checked || undefined}>
      <input type="radio" name="preset" checked={checked} onChange={pick} />
      <span><b>{words.presets[name]}</b><small className="dim">{words.sentences[name]}</small></span>
    </label>
  );
}
