// What an agent may do without asking, in four words that people pick; each stands for levels of the wire.
import type { Capabilities, Controls } from "./types";

export type Preset = "read" | "ask" | "edit" | "full";
export type Levels = Pick<Controls, "approvalPolicy" | "filesystemSandbox" | "networkAccess">;

const full = "danger-full-access";
const wanted: [Preset, sandboxes: string[], approvalPolicy: string][] = [
  ["read", ["read-only"], "untrusted"],
  // Runtimes without a sandbox ask all the same.
  ["ask", ["workspace-write", full], "untrusted"],
  ["edit", ["workspace-write", full], "on-request"],
  ["full", [full], "never"],
];

/** presets are those a runtime offers, with their levels. `network` is what is in force: a preset leaves it as it is, but without a sandbox nothing restricts it. */
export function presets(capabilities: Capabilities, network = "restricted"): Map<Preset, Levels> {
  const { sandboxes = [], approvalPolicies = [], networkAccess = [] } = capabilities;
  const offered = new Map<Preset, Levels>();
  for (const [preset, any, approvalPolicy] of wanted) {
    const filesystemSandbox = any.find((level) => sandboxes.includes(level));
    if (!filesystemSandbox || !approvalPolicies.includes(approvalPolicy)) continue;
    const open = filesystemSandbox === full ? "enabled" : network;
    offered.set(preset, { approvalPolicy, filesystemSandbox, networkAccess: networkAccess.includes(open) ? open : (networkAccess[0] ?? open) } as Levels);
  }
  return offered;
}

/** presetOf is the preset that is in force, null for another combination. */
export function presetOf(controls: Levels | undefined, offered: Map<Preset, Levels>): Preset | null {
  for (const [preset, levels] of offered) {
    if (controls?.approvalPolicy === levels.approvalPolicy && controls.filesystemSandbox === levels.filesystemSandbox) return preset;
  }
  return null;
}

/** policies are those to choose from: on-failure is not offered, agents have given it up. */
export const policies = (offered: string[]) => offered.filter((policy) => policy !== "on-failure");

/** unrestricted reports that no sandbox, and so nothing else, restricts the network. */
export const unrestricted = (controls: Levels | undefined) => controls?.filesystemSandbox === full;
