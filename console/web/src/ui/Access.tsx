// Agent, model and access of a session in one chip, and the popover that changes them.
import { useEffect, useRef, useState } from "react";
import { policies, presetOf, presets, unrestricted, type Preset } from "../core/access";
import { agentName } from "../core/entries";
import type { Open } from "../core/store";
import type { Controls, Model, Session } from "../core/types";
import { text } from "../text";
import { useClient } from "./hooks";
import { Icon } from "./Icon";
import { Layer } from "./Layer";
import { Choice, levels } from "./Pickers";
import { useControls } from "./useControls";

type AccessProps = { open: Open; session: Session | undefined; effort: string; onEffort: (effort: string) => void; onFailure: (failure: string | null) => void };

/** useModels are the models a runtime offers; none until they are known, or where it does not say. */
function useModels(runtime: string | undefined): Model[] {
  const client = useClient();
  const [models, setModels] = useState<Model[]>([]);
  useEffect(() => {
    let gone = false;
    if (runtime) client.models(runtime).then((all) => gone || setModels(all), () => gone || setModels([])); // then there is nothing to choose from
    return () => void (gone = true);
  }, [client, runtime]);
  return models;
}

/** useSet changes controls of a session. */
function useSet(open: Open, session: Session | undefined, onFailure: (failure: string | null) => void) {
  const client = useClient();
  return async (change: Partial<Controls>) => {
    onFailure(null);
    try {
      const now = session?.sessionControls;
      const controls = { model: now?.model ?? null, approvalPolicy: now?.approvalPolicy, networkAccess: now?.networkAccess, filesystemSandbox: now?.filesystemSandbox };
      const answer = await client.api.post<{ controls: Controls }>(`/api/sessions/${encodeURIComponent(open.sessionId)}/session-controls`, {
        scope: "session", controls: { ...controls, ...change }, source: "console",
      });
      const known = client.store.sessions.get(open.sessionId);
      if (known) client.store.putSession({ ...known, sessionControls: answer.controls });
    } catch (err) {
      onFailure(err instanceof Error ? err.message : String(err));
    }
  };
}

/** Access is the chip, and the popover it opens. */
export function Access(props: AccessProps) {
  return props.session ? <Chip {...props} session={props.session} /> : null;
}

function Chip(props: AccessProps & { session: Session }) {
  const { open, session } = props;
  useControls(session);
  const [opened, setOpened] = useState(false);
  const chip = useRef<HTMLButtonElement>(null);
  const models = useModels(session.runtime);
  const controls = session.sessionControls;
  const model = models.find((m) => m.id === controls?.model) ?? (controls?.model ? undefined : models.find((m) => m.isDefault));
  const preset = presetOf(controls, presets(open.capabilities));
  const agent = agentName(session.runtime);
  return (
    <>
      <button ref={chip} type="button" className="chip" aria-haspopup="dialog" aria-expanded={opened} aria-label={`${text.session.controls}: ${[agent, model?.displayName ?? controls?.model, preset ? text.talk.presets[preset][0] : text.talk.custom].filter(Boolean).join(" · ")}`} onClick={() => setOpened(!opened)}>
        <Icon name="sliders-horizontal" />
        <span className="clip"><span className="wide-only">{[agent, model?.displayName ?? controls?.model].filter(Boolean).join(" · ")} · </span>{preset ? text.talk.presets[preset][0] : text.talk.custom}</span>
        <Icon name="chevron-down" />
      </button>
      {opened && <Layer anchor={chip} close={() => setOpened(false)} role="dialog" label={text.session.controls} className="access"><Settings {...props} models={models} model={model} /></Layer>}
    </>
  );
}

function Settings({ open, session, effort, onEffort, onFailure, models, model }: AccessProps & { models: Model[]; model: Model | undefined }) {
  const set = useSet(open, session, onFailure);
  const controls = session?.sessionControls;
  const efforts = model?.supportedReasoningEfforts.map((e) => e.reasoningEffort) ?? [];
  return (
    <>
      <h3>{text.talk.agent}</h3>
      <p className="menu-item"><Icon name="bot" /><span className="grow">{agentName(session?.runtime ?? "")}</span><span className="dim">{text.talk.fixed}</span></p>
      {(models.length > 0 || controls?.model) && (
        <>
          <h3>{text.composer.model}</h3>
          <div className="setting"><Choice label={text.composer.model} value={controls?.model ?? ""} change={(id) => void set({ model: id || null })}
            choices={[["", text.composer.anyModel(models.find((m) => m.isDefault)?.displayName)], ...models.map((m): [string, string] => [m.id, m.displayName])]} /></div>
        </>
      )}
      {efforts.length > 0 && (
        <div className="setting"><span className="dim grow">{text.composer.effort}</span><Choice label={text.composer.effort} value={efforts.includes(effort) ? effort : ""} change={onEffort}
          choices={[["", text.composer.anyEffort(model?.defaultReasoningEffort)], ...efforts.map((e): [string, string] => [e, text.composer.ofEffort(e)])]} /></div>
      )}
      <Levels open={open} controls={controls} set={(change) => void set(change)} />
    </>
  );
}

function Levels({ open, controls, set }: { open: Open; controls: Controls | undefined; set: (change: Partial<Controls>) => void }) {
  const [custom, setCustom] = useState(false);
  const offered = presets(open.capabilities, controls?.networkAccess);
  const preset = presetOf(controls, offered);
  const locked = unrestricted(controls);
  const network = (open.capabilities.networkAccess ?? []).length > 1;
  if (offered.size === 0 && !network) return null;
  return (
    <>
      <div className="separator" />
      <h3>{text.talk.access}</h3>
      <div role="radiogroup" aria-label={text.talk.access}>
        {[...offered].map(([name, levels]) => <Opt key={name} name={name} checked={preset === name} title={Object.values(levels).join(" · ")} choose={() => set(levels)} />)}
        {preset === null && <label className="opt"><input type="radio" name="access" checked readOnly /><b>{text.talk.custom}</b><span>{[controls?.approvalPolicy, controls?.filesystemSandbox].map((level) => text.access[level ?? ""] ?? level).join(" · ")}</span></label>}
      </div>
      <div className="separator" />
      {network && (
        <label className="menu-item"><span className="grow">{text.composer.network}</span><span className="dim">{controls?.networkAccess === "enabled" || locked ? text.talk.on : text.talk.off}</span>
          <input type="checkbox" role="switch" checked={controls?.networkAccess === "enabled" || locked} disabled={locked} title={locked ? text.talk.openNetwork : undefined} onChange={(e) => set({ networkAccess: e.target.checked ? "enabled" : "restricted" })} /></label>
      )}
      <button type="button" className="menu-item dim" aria-expanded={custom} onClick={() => setCustom(!custom)}><Icon name="sliders-horizontal" />{text.talk.rules}</button>
      {custom && levels.map(([name, capability, label]) => {
        const choices = name === "approvalPolicy" ? policies(open.capabilities[capability] ?? []) : open.capabilities[capability] ?? [];
        if (choices.length === 0) return null;
        return (
          <div className="setting" key={name}><span className="dim grow">{label}</span>
            <Choice label={label} value={controls?.[name] ?? ""} choices={choices.map((choice): [string, string] => [choice, text.access[choice] ?? choice])}
              change={(value) => set(value === "danger-full-access" ? { [name]: value, networkAccess: "enabled" } : { [name]: value })} /></div>
        );
      })}
    </>
  );
}

function Opt({ name, checked, title, choose }: { name: Preset; checked: boolean; title: string; choose: () => void }) {
  const [label, sentence] = text.talk.presets[name];
  return (
    <label className="opt" title={title}>
      <input type="radio" name="access" value={name} checked={checked} data-first={checked || undefined} onChange={choose} />
      <b>{label}</b>
      <span>{sentence}</span>
    </label>
  );
}
