import type { FieldProblem } from 'parley-forum';
import { html, type SafeHtml } from 'parley-forum/plugins/web';
import type { TestResult } from './connection-tests.ts';

export interface FieldOptions {
  readonly name: string;
  readonly label: string;
  readonly value?: string | undefined;
  readonly type?: 'text' | 'email' | 'password';
  readonly help?: SafeHtml | string | undefined;
  readonly problem?: string | undefined;
  readonly required?: boolean;
  readonly autocomplete?: string;
  readonly pattern?: string;
  readonly minlength?: number;
  readonly maxlength?: number;
  /** For URLs and the like, which are not prose. */
  readonly plain?: boolean;
}

/** The ids of the elements that describe a field, for screen readers. */
const describedBy = (name: string, help: unknown, problem: unknown): SafeHtml | undefined => {
  const ids = [problem !== undefined && `p-${name}`, help !== undefined && `h-${name}`].filter(Boolean);
  return ids.length > 0 ? html` aria-describedby="${ids.join(' ')}"` : undefined;
};
const fieldFrame = (
  name: string,
  label: string,
  control: SafeHtml,
  { help, problem }: Pick<FieldOptions, 'help' | 'problem'>,
): SafeHtml =>
  html`<div class="field">
<label for="f-${name}">${label}</label>
${control}
${problem !== undefined && html`<p class="bad" id="p-${name}">${problem}</p>`}
${help !== undefined && html`<div class="help" id="h-${name}">${help}</div>`}
</div>`;

export function field({
  name,
  label,
  value = '',
  type = 'text',
  help,
  problem,
  required,
  plain,
  ...limits
}: FieldOptions): SafeHtml {
  const given = Object.entries(limits)
    .filter(([, limit]) => limit !== undefined)
    .map(([key, limit]) => html` ${key}="${limit}"`);
  const invalid = problem !== undefined && html` aria-invalid="true"`;
  const more = [
    required && html` required`,
    plain && html` spellcheck="false" autocapitalize="none" dir="ltr"`,
    invalid,
  ];
  const control = html`<input id="f-${name}" name="${name}" type="${type}" value="${value}"${given}${more}${describedBy(name, help, problem)}>`;
  return fieldFrame(name, label, control, { help, problem });
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}
export function select(
  name: string,
  label: string,
  choices: readonly Choice[],
  chosen: string,
  help?: string,
): SafeHtml {
  const options = choices.map(
    (choice) =>
      html`<option value="${choice.value}"${choice.value === chosen && html` selected`}>${choice.label}</option>`,
  );
  return fieldFrame(
    name,
    label,
    html`<select id="f-${name}" name="${name}"${describedBy(name, help, undefined)}>${options}</select>`,
    { help },
  );
}

/** A radio button or checkbox. */
export function choice(
  type: 'radio' | 'checkbox',
  name: string,
  { value, label }: Choice,
  chosen: boolean,
  help: string,
): SafeHtml {
  const id = `${name}-${value}`;
  return html`<div class="choice"><input type="${type}" id="f-${id}" name="${name}" value="${value}"${chosen && html` checked`} aria-describedby="h-${id}">
<div><label for="f-${id}">${label}</label><p class="help" id="h-${id}">${help}</p></div></div>`;
}

/** The result of a connection test. */
export const testMessage = (testResult: TestResult | undefined): SafeHtml | undefined =>
  testResult && html`<p class="${testResult.good ? 'good' : 'bad'}" role="status">${testResult.text}</p>`;

/** The problem of the form as a whole, with links to the fields concerned. */
export function problems(
  message: string | undefined,
  details: readonly FieldProblem[],
  labels: Readonly<Record<string, string>>,
): SafeHtml | undefined {
  if (message === undefined) return undefined;
  const named = (name: string): SafeHtml =>
    name in labels ? html`<a href="#f-${name}">${labels[name]}</a>` : html`${name}`;
  return html`<div class="bad" role="alert"><p>${message}</p>
${
  details.length > 0 &&
  html`<ul>${details.map(({ field: name, message: wrong }) => html`<li>${named(name)}: ${wrong}</li>`)}</ul>`
}</div>`;
}

/** The URL with its password masked, safe to display. */
export const maskPassword = (address: string | undefined): string =>
  (address ?? '').replace(/^([a-z]+:\/\/[^:/@]*):.*@/i, '$1:*****@');
/** The URL that was typed; if it came back exactly as displayed, masked, the earlier one with its password. */
export const restorePassword = (input: string | undefined, before: string | undefined): string | undefined => {
  const address = input?.trim() || undefined;
  return before !== undefined && address === maskPassword(before) ? before : address;
};
