export interface Rule { name: string; contains: string; decision: "accept" | "decline" }

export const firstMatch = (rules: Rule[], summary: string): Rule | undefined => rules.find((rule) => summary.includes(rule.contains));
