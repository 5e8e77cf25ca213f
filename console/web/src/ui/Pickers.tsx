import { useEffect, useState } from "react";
import type { Open } from "../core/store";
import type { Controls, Model, Session } from "../core/types";
import { text } from "../text";
import { useClient } from "./hooks";

/** What a runtime enforces, in levels of its own. */
export type Level = "approvalPolicy" | "filesystemSandbox" | "networkAccess";
export const levels: [Level, "approvalPolicies" | "sandboxes" | "networkAccess", string][] = [
  ["approvalPolicy", "approvalPolicies", text.composer.approval],
  ["filesystemSandbox", "sandboxes", text.composer.sandbox],
  ["networkAccess", "networkAccess", text.composer.network],
];

export type PickersProps = { open: Open; session: Session | undefined; effort: string; onEffort: (effort: string) => void; onFailure: (failure: string | null) => void };

/** Pickers show what a session's turns run with, and let it be changed to what its runtime offers. */
export function Pickers({ open, session, effort, onEffort, onFailure }: PickersProps) {
  const client = useClient();
  const [models, setModels] = useState<Model[]>([]);
  const runtime = session?.runtime;
  useEffect(() => {
    let gone = false;
    if (runtime) client.models(runtime).then((all) => gone || setModels(all), () => gone || setModels([])); // then there is nothing to choose from
    return () => void (gone = true);
  }, [client, runtime]);
  const set = async (change: Partial<Controls>) => {
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
  const controls = session?.sessionControls;
  const model = models.find((m) => m.id === controls?.model) ?? models.find((m) => m.isDefault);
  const efforts = model?.supportedReasoningEfforts.map((e) => e.reasoningEffort) ?? [];
  return (
    <>
      {(models.length > 0 || controls?.model) && (
        <Choice label={text.composer.model} value={controls?.model ?? ""} change={(id) => void set({ model: id || null })}
          choices={[["", text.composer.anyModel(models.find((m) => m.isDefault)?.displayName)], ...models.map((m): [string, string] => [m.id, m.displayName])]} />
      )}
      {efforts.length > 0 && (
        <Choice label={text.composer.effort} value={efforts.includes(effort) ? effort : ""} change={onEffort}
          choices={[["", text.composer.anyEffort(model?.defaultReasoningEffort)], ...efforts.map((e): [string, string] => [e, text.composer.ofEffort(e)])]} />
      )}
      {levels.map(([name, capability, label]) => {
        const choices = open.capabilities[capability] ?? [];
        if (choices.length === 0) return null;
        return (
          <Choice key={name} label={label} value={controls?.[name] ?? ""} change={(value) => void set(value === "danger-full-access" ? { [name]: value, networkAccess: "enabled" } : { [name]: value })}
            choices={choices.map((choice): [string, string] => [choice, text.access[choice] ?? choice])} />
        );
      })}
    </>
  );
}

type ChoiceProps = { label: string; value: string; choices: [string, string][]; change: (value: string) => void; reason?: string };

/** Choice is one picker; what is in force is there even where it is not offered (any more). With a reason, the id of a text, it is not to be changed. */
export function Choice({ label, value, choices, change, reason }: ChoiceProps) {
  return (
    <select className="picker" aria-label={label} title={label} value={value} disabled={reason !== undefined} aria-describedby={reason} onChange={(e) => change(e.target.value)}>
      {!choices.some(([choice]) => choice === value) && <option value={value} title={value}>{text.access[value] ?? value}</option>}
      {choices.map(([choice, shown]) => <option key={choice} value={choice} title={choice || undefined}>{shown}</option>)}
    </select>
  );
}
