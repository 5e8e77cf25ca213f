import type { Answer, Schemas } from "../api/answers";
import { money } from "../core/money";
import type { Open } from "../core/store";
import { text } from "../text";
import { useClient } from "./hooks";
import { useAnswer } from "./useAnswer";

/** spendOf words what was spent; tokens without a price are never taken for free ones. */
export function spendOf(used: Schemas["Usage"]): string {
  if (used.costMicros === null) return text.usage.noPrice;
  return used.unpricedTokens > 0 ? text.usage.atLeast(money(used.costMicros)) : money(used.costMicros);
}

/** useSpend is what a session used so far by model, null where the server does not say. */
export function useSpend(open: Open): Answer<"/api/usage"> | null {
  const client = useClient();
  const path = `/api/usage?by=model&session=${encodeURIComponent(open.sessionId)}`;
  return useAnswer(() => client.api.get<Answer<"/api/usage">>(path), [path], { rev: open.usage?.used ?? 0 }).answer;
}
