import { store, type FormValues } from '@forum/client';

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
interface Draft {
  readonly values: FormValues;
  /** Epoch milliseconds. */
  readonly time: number;
}

/** What is no choice of the writer's, must not be stored, or cannot be put back. */
const LEFT_OUT = new Set(['hidden', 'password', 'file', 'submit', 'button', 'reset', 'image']);
/**
 * A picture at nothing but a fragment holds the place of a file on its way, which no one will put there once the page
 * is gone.
 */
const ON_ITS_WAY = /!\[[^\]\n]*\]\(#[\da-f]{8}\)\n?/g;

/** Before the name of what the address of a form says, such as the post that a reply answers. */
const IN_ADDRESS = '?';

const checkable = (control: Control): control is HTMLInputElement => ['checkbox', 'radio'].includes(control.type);
/** Radio buttons of one name are one choice, as those of a list are. */
const isRadio = (control: Control): boolean => control.type === 'radio';
const keyOf = (control: Control): string =>
  control.type === 'checkbox' ? `${control.name}=${control.value}` : control.name;
function valueOf(control: Control): string | boolean {
  if (isRadio(control))
    return control.form!.querySelector<HTMLInputElement>(`:checked[name="${CSS.escape(control.name)}"]`)?.value ?? '';
  return checkable(control) ? control.checked : control.value.replace(ON_ITS_WAY, '');
}
/** A choice that was not made, or is no longer offered, would leave nothing chosen where the page comes with one. */
function takes(control: Control, value: string | boolean | undefined): value is string | boolean {
  if (isRadio(control)) return control.value === value;
  if (!('options' in control)) return value !== undefined;
  return value !== '' && [...control.options].some((one) => one.value === value);
}

/** All that a user filled into a form, saved on this device under a name until it is sent or discarded. */
export class FormDraft {
  readonly #form: HTMLFormElement;
  readonly #key: string;
  /** The address before a draft changed it. */
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

  /** The form as it is, and what its address says besides. */
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

  /** What an address says by itself is what the writer asked for now. */
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

  /** Whether putting these values would change the form. */
  #differs(values: FormValues): boolean {
    return this.#controls.some((control) => {
      const value = values[keyOf(control)];
      return takes(control, value) && value !== valueOf(control);
    });
  }

  /** Saves the form as it is; false where it is empty, and nothing is saved then. */
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

  /** Whether these values are in the form, or are what is saved here: there is nothing to tell of them then. */
  knows(values: FormValues): boolean {
    const saved = this.#read()?.values;
    const isSaved = saved && Object.entries(values).every(([key, value]) => saved[key] === value);
    return isSaved === true || !this.#differs(values);
  }

  /** Whether another tab dropped a draft that is not what is written here. */
  isLost({ key, oldValue, newValue }: StorageEvent): boolean {
    const draft = key === this.#key && newValue === null ? draftIn(oldValue) : undefined;
    return draft !== undefined && this.#differs(draft.values);
  }

  /** When a draft was saved that differs from the form as it is. */
  get kept(): Date | undefined {
    const draft = this.#read();
    return draft && this.#differs(draft.values) ? new Date(draft.time) : undefined;
  }

  /** When it was saved, in epoch milliseconds; 0 where there is none. */
  get time(): number {
    return this.#read()?.time ?? 0;
  }

  restore(): void {
    this.put(this.#read()?.values ?? {});
  }

  /** Back to what the server sent. */
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
