import { text } from "../text";

/** What a runtime enforces, in levels of its own. */
export type Level = "approvalPolicy" | "filesystemSandbox" | "networkAccess";
export const levels: [Level, "approvalPolicies" | "sandboxes" | "networkAccess", string][] = [
  ["approvalPolicy", "approvalPolicies", text.composer.approval],
  ["filesystemSandbox", "sandboxes", text.composer.sandbox],
  ["networkAccess", "networkAccess", text.composer.network],
];

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
