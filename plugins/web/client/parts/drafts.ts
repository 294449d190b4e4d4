import { store, type FormValues } from '@forum/client';

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
interface Draft {
  readonly values: FormValues;
  /** Epoch milliseconds. */
  readonly time: number;
}

/** Controls whose value is not chosen by the writer, must not be stored, or cannot be restored. */
const LEFT_OUT = new Set(['hidden', 'password', 'file', 'submit', 'button', 'reset', 'image']);
/**
 * A picture whose URL is only a fragment is the placeholder of a file that is being uploaded; once the page is gone,
 * the upload never completes.
 */
const ON_ITS_WAY = /!\[[^\]\n]*\]\(#[\da-f]{8}\)\n?/g;

/** Prefix of keys for parameters of the form's URL, such as the post that a reply answers. */
const IN_ADDRESS = '?';

const checkable = (control: Control): control is HTMLInputElement => ['checkbox', 'radio'].includes(control.type);
/** Radio buttons with the same name are one choice, as in a select. */
const isRadio = (control: Control): boolean => control.type === 'radio';
const keyOf = (control: Control): string =>
  control.type === 'checkbox' ? `${control.name}=${control.value}` : control.name;
function valueOf(control: Control): string | boolean {
  if (isRadio(control))
    return control.form!.querySelector<HTMLInputElement>(`:checked[name="${CSS.escape(control.name)}"]`)?.value ?? '';
  return checkable(control) ? control.checked : control.value.replace(ON_ITS_WAY, '');
}
/**
 * Whether a stored value can be restored: an empty choice, or an option that is no longer offered, would deselect the
 * page's default.
 */
function takes(control: Control, value: string | boolean | undefined): value is string | boolean {
  if (isRadio(control)) return control.value === value;
  if (!('options' in control)) return value !== undefined;
  return value !== '' && [...control.options].some((one) => one.value === value);
}

/** All values that a user entered in a form, saved on this device under a name until sent or discarded. */
export class FormDraft {
  readonly #form: HTMLFormElement;
  readonly #key: string;
  /** The form's `action` before a draft changed it. */
  #address: string | undefined;

  constructor(form: HTMLFormElement, name: string) {
    this.#form = form;
    this.#key = `draft:${name}`;
  }

  get #controls(): readonly Control[] {
    const all = [...this.#form.elements] as Control[];
    return all.filter(
      ({ name, type, localName }) => name && ['input', 'textarea', 'select'].includes(localName) && !LEFT_OUT.has(type),
    );
  }

  /** The values of the form and the parameters of its URL. */
  get values(): FormValues {
    const said = [...new URL(this.#form.action).searchParams].map(([name, value]) => [IN_ADDRESS + name, value]);
    return Object.fromEntries([...said, ...this.#controls.map((control) => [keyOf(control), valueOf(control)])]);
  }

  put(values: FormValues): void {
    for (const control of this.#controls) {
      const value = values[keyOf(control)];
      if (!takes(control, value)) continue;
      if (checkable(control)) control.checked = value !== false;
      else control.value = String(value);
    }
    this.#putAddress(values);
  }

  /** Parameters that are already in the URL are what the writer asked for now, so they are kept. */
  #putAddress(values: FormValues): void {
    const address = new URL(this.#form.action);
    if (address.search !== '') return;
    for (const [key, value] of Object.entries(values))
      if (key.startsWith(IN_ADDRESS)) address.searchParams.set(key.slice(IN_ADDRESS.length), String(value));
    if (address.search === '') return;
    this.#address ??= this.#form.getAttribute('action') ?? '';
    this.#form.action = address.pathname + address.search;
    this.#form.dispatchEvent(new Event('change', { bubbles: true }));
  }

  /** Whether restoring these values would change the form. */
  #differs(values: FormValues): boolean {
    return this.#controls.some((control) => {
      const value = values[keyOf(control)];
      return takes(control, value) && value !== valueOf(control);
    });
  }

  /** Saves the form. If it is empty, drops any saved draft and returns false. */
  keep(): boolean {
    const written = this.#controls.some(
      (control) => control.localName !== 'select' && !checkable(control) && control.value.trim() !== '',
    );
    store.set(this.#key, written ? JSON.stringify({ values: this.values, time: Date.now() }) : undefined);
    return written;
  }

  forget(): void {
    store.set(this.#key, undefined);
  }

  /** Whether these values are already in the form or saved here, so that the user need not be asked. */
  knows(values: FormValues): boolean {
    const saved = this.#read()?.values;
    const isSaved = saved && Object.entries(values).every(([key, value]) => saved[key] === value);
    return isSaved === true || !this.#differs(values);
  }

  /** Whether another tab dropped a draft that differs from the text in this one. */
  isLost({ key, oldValue, newValue }: StorageEvent): boolean {
    const draft = key === this.#key && newValue === null ? draftIn(oldValue) : undefined;
    return draft !== undefined && this.#differs(draft.values);
  }

  /** The time of the saved draft, if it differs from the form. */
  get kept(): Date | undefined {
    const draft = this.#read();
    return draft && this.#differs(draft.values) ? new Date(draft.time) : undefined;
  }

  /** When the draft was saved, in epoch milliseconds; 0 if there is none. */
  get time(): number {
    return this.#read()?.time ?? 0;
  }

  restore(): void {
    this.put(this.#read()?.values ?? {});
  }

  /** Resets the form to the values that the server sent. */
  discard(): void {
    if (this.#address !== undefined) this.#form.action = this.#address;
    this.#form.reset();
  }

  #read(): Draft | undefined {
    return draftIn(store.get(this.#key));
  }
}

function draftIn(text: string | null): Draft | undefined {
  try {
    const { values, time } = JSON.parse(text ?? '{}') as Partial<Draft>;
    return values && time !== undefined ? { values, time } : undefined;
  } catch {
    return undefined;
  }
}
