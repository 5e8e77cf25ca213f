// What a person answers to the questions of an agent.
import type { Question } from "./types";

/** What is marked of a question's options, and what is typed besides. */
export type Marked = { options: string[]; typed: string; ownWords: boolean };

export const unmarked: Marked = { options: [], typed: "", ownWords: false };

/** mark is the state after an option was clicked: one more or one less where several may be marked, that one alone else. */
export function mark(question: Question, was: Marked, option: string): Marked {
  if (!question.multiple) return { ...was, options: [option], ownWords: false };
  const options = was.options.includes(option) ? was.options.filter((o) => o !== option) : [...was.options, option];
  return { ...was, options };
}

/** markOwn is the state after the field for one's own words was clicked. */
export function markOwn(question: Question, was: Marked): Marked {
  return question.multiple ? { ...was, ownWords: !was.ownWords } : { ...was, options: [], ownWords: true };
}

/** type is the state after something was typed. */
export function type(question: Question, was: Marked, typed: string): Marked {
  return { options: question.multiple ? was.options : [], typed, ownWords: typed !== "" || !question.multiple };
}

/** answersTo are the answers in the order of the options, one's own words last. None: the question is not answered yet. */
export function answersTo(question: Question, marked: Marked): string[] {
  const labels = question.options?.map((o) => o.label) ?? [];
  const own = labels.length === 0 || marked.ownWords ? marked.typed : "";
  // A question without options takes one answer in a line.
  const words = question.multiple && labels.length === 0 ? own.split("\n").map((line) => line.trim()) : [own];
  return [...labels.filter((label) => marked.options.includes(label)), ...words.filter((word) => word !== "")];
}
