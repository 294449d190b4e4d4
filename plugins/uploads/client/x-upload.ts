import { announce, csrf, define, escapeMarkdown, insertText, logIn, t, toast } from '@forum/client';
import { replaceText } from './parts/inserting.ts';
import { filesIn, marksIn, swapIn } from './parts/order.ts';

interface Sent {
  readonly name: string;
  readonly url: string;
  readonly type: string;
}
/** A file that is in the text; `description` only for pictures. */
interface Placed {
  readonly name: string;
  readonly path: string;
  readonly description: string | undefined;
}

/**
 * Adds files to the text of its form: chosen, pasted, or dropped anywhere on the writing field with its buttons. A placeholder line in the text marks the place of each
 * file until it is uploaded. Afterwards a picture gets a field for its description, and several files get buttons to
 * reorder them.
 */
class Upload extends HTMLElement {
  #area!: HTMLTextAreaElement;
  #input!: HTMLInputElement;
  readonly #under = new Set<XMLHttpRequest>();
  /** Rows of the files in the text, by path. */
  readonly #rows = new Map<string, HTMLElement>();
  readonly #paste = (event: ClipboardEvent): void => this.#take(event, event.clipboardData);
  readonly #drop = (event: DragEvent): void => {
    this.#composer.classList.remove('dropping');
    this.#take(event, event.dataTransfer);
  };
  /** The text is gone: sent or discarded. */
  readonly #clear = (): void => {
    this.#rows.clear();
    for (const line of this.querySelectorAll('.upload-row, .problem')) line.remove();
  };
  readonly #written = (): void => this.#find();
  /** Prevents submitting during an upload: a placeholder that was submitted would stay in the text forever. */
  readonly #wait = (event: Event): void => {
    if (this.#under.size === 0) return;
    event.preventDefault();
    toast(this.#text('wait'));
  };
  #composer!: Element;
  readonly #over = (event: DragEvent): void => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    this.#composer.classList.add('dropping');
  };
  readonly #out = (event: DragEvent): void => {
    if (!(event.relatedTarget instanceof Node && this.#composer.contains(event.relatedTarget)))
      this.#composer.classList.remove('dropping');
  };

  connectedCallback(): void {
    const composer = this.closest<HTMLElement>('.composer');
    const area = composer?.querySelector('textarea');
    if (!composer || !area || this.querySelector('button')) return;
    this.#area = area;
    this.#composer = composer;
    this.replaceChildren(this.#bar());
    area.addEventListener('paste', this.#paste);
    composer.addEventListener('dragover', this.#over);
    composer.addEventListener('dragleave', this.#out);
    composer.addEventListener('drop', this.#drop);
    area.form!.addEventListener('reset', this.#clear);
    area.form!.addEventListener('submit', this.#wait);
    for (const event of ['input', 'change']) area.form!.addEventListener(event, this.#written);
    this.#find();
  }

  disconnectedCallback(): void {
    for (const request of this.#under) request.abort();
    this.#area?.removeEventListener('paste', this.#paste);
    this.#composer?.removeEventListener('dragover', this.#over as EventListener);
    this.#composer?.removeEventListener('dragleave', this.#out as EventListener);
    this.#composer?.removeEventListener('drop', this.#drop as EventListener);
    this.#area?.form?.removeEventListener('reset', this.#clear);
    this.#area?.form?.removeEventListener('submit', this.#wait);
    for (const event of ['input', 'change']) this.#area?.form?.removeEventListener(event, this.#written);
  }

  #text(key: string, name = ''): string {
    return (this.dataset[key] ?? '').replace('{name}', () => name);
  }

  #bar(): HTMLElement {
    this.#input = document.createElement('input');
    Object.assign(this.#input, { type: 'file', multiple: true, accept: this.#text('accept'), hidden: true });
    this.#input.addEventListener('change', () => {
      this.#add([...(this.#input.files ?? [])]);
      this.#input.value = '';
    });
    const choose = buttonOf(this.#text('add'), () => this.#input.click());
    const help = document.createElement('span');
    help.className = 'help';
    help.textContent = this.#text('choose');
    const bar = document.createElement('p');
    bar.className = 'row';
    bar.append(choose, help, this.#input);
    return bar;
  }

  #take(event: Event, data: DataTransfer | null): void {
    const files = [...(data?.files ?? [])];
    // A table copied from a document comes both as text and as a picture of it.
    if (files.length === 0 || (event.type === 'paste' && data?.types.includes('text/plain'))) return;
    event.preventDefault();
    this.#add(files);
  }

  #add(files: readonly File[]): void {
    for (const old of this.querySelectorAll('.problem')) old.remove();
    for (const file of files) {
      if (file.size > Number(this.dataset['most'])) this.#line(this.#text('large', file.name));
      else if (!isAmong(this.#text('accept'), file.name)) this.#line(this.#text('type', file.name));
      else this.#send(file);
    }
  }

  /** `place`: the placeholder, if the file was sent before the session turned out to have ended. */
  #send(file: File, place = this.#hold(file.name), isAgain = false): void {
    const line = this.#line(this.#text('busy', file.name), false);
    const progress = document.createElement('progress');
    progress.max = 1;
    progress.setAttribute('aria-label', line.textContent ?? '');
    const request = new XMLHttpRequest();
    line.append(
      ' ',
      progress,
      ' ',
      buttonOf(this.#text('cancel'), () => request.abort()),
    );
    request.upload.addEventListener(
      'progress',
      ({ loaded, total, lengthComputable }) => lengthComputable && (progress.value = loaded / total),
    );
    request.addEventListener('loadend', () => {
      this.#under.delete(request);
      if (line.contains(document.activeElement)) this.#area.focus();
      line.remove();
      if (request.status === 401 && !isAgain) return void this.#logIn(file, place);
      const { upload, error, details } = answerOf(request);
      this.#replace(place, upload ? markdownOf(upload) : '');
      if (upload) announce(this.#text('done', upload.name));
      else if (request.readyState === XMLHttpRequest.DONE)
        this.#failed(
          file,
          request.status,
          details?.[0]
            ? `${file.name} ${details[0].message}.`
            : `${this.#text('failed', file.name)} ${error ?? t('offline')}`,
        );
    });
    const body = new FormData();
    body.append('file', file);
    request.open('POST', '/api/uploads');
    request.setRequestHeader('X-CSRF-Token', csrf());
    this.#under.add(request);
    request.send(body);
  }

  /** Sends the file once more after a login. */
  async #logIn(file: File, place: string): Promise<void> {
    if (await logIn()) return this.#send(file, place, true);
    this.#replace(place, '');
    this.#failed(file, 401, `${this.#text('failed', file.name)} ${t('session')}`);
  }

  /** Syncs the rows with the files in the text, including those of an edited post or a draft. */
  #find(): void {
    const files = filesIn(this.#area.value);
    const paths = new Set(files.map(({ path }) => path));
    for (const [path, row] of this.#rows) {
      if (paths.has(path)) continue;
      row.remove();
      this.#rows.delete(path);
    }
    for (const { path, text } of files) {
      if (this.#rows.has(path)) continue;
      const says = text.slice(text.indexOf('[') + 1, text.lastIndexOf(']')).replace(/\\([!-/:-@[-`{-~])/g, '$1');
      this.#place({ name: fileName(path), path, description: text.startsWith('!') ? says : undefined });
    }
    // A single file cannot be reordered, and a row for one that is not a picture would be empty.
    this.classList.toggle('several', this.#rows.size > 1);
  }

  #place(file: Placed): void {
    const row = Object.assign(document.createElement('div'), { className: 'upload-row' });
    row.append(
      file.description === undefined ? file.name : this.#description(file),
      this.#mover(file, -1),
      this.#mover(file, 1),
    );
    this.#rows.set(file.path, row);
    const order = marksIn(this.#area.value, new Set(this.#rows.keys())).map(({ path }) => path);
    const next = this.#rows.get(order[order.indexOf(file.path) + 1] ?? '');
    if (next && next !== row) next.before(row);
    else this.append(row);
  }

  #description({ name, path, description = '' }: Placed): HTMLElement {
    const field = Object.assign(document.createElement('input'), { type: 'text', maxLength: 1_000, dir: 'auto' });
    field.value = description;
    field.addEventListener('input', () => this.#describe(path, field.value));
    const label = Object.assign(document.createElement('label'), { className: 'upload-description' });
    label.append(this.#text('describe', name), field);
    return label;
  }

  #mover(file: Placed, by: -1 | 1): HTMLButtonElement {
    const button = buttonOf(by < 0 ? '↑' : '↓', () => this.#move(file, by));
    button.ariaLabel = this.#text(by < 0 ? 'earlier' : 'later', file.name);
    button.title = button.ariaLabel;
    return button;
  }

  /** Moves the other row, so that the pressed button keeps the focus. */
  #move({ name, path }: Placed, by: -1 | 1): void {
    const swap = swapIn(this.#area.value, new Set(this.#rows.keys()), path, by);
    if (!swap) return;
    replaceText(this.#area, swap.text, swap.start, swap.end);
    const [row, other] = [this.#rows.get(path), this.#rows.get(swap.other)];
    if (other) row?.[by < 0 ? 'after' : 'before'](other);
    announce(this.#text('moved', name).replace('{at}', String(swap.at)).replace('{count}', String(this.#rows.size)));
  }

  /** Updates the description in the text, if the picture is still there. */
  #describe(path: string, description: string): void {
    const end = this.#area.value.indexOf(`](${path})`);
    const begin = this.#area.value.lastIndexOf('![', end);
    if (end < 0 || begin < 0) return;
    this.#area.setRangeText(escapeMarkdown(description), begin + 2, end, 'preserve');
    this.#area.dispatchEvent(new Event('input', { bubbles: true }));
  }

  /** Unless the file itself is the cause, offers to send it again; it is then inserted at the caret. */
  #failed(file: File, status: number, reason: string): void {
    const line = this.#line(reason);
    if (status !== 0 && status !== 401 && status < 429) return;
    const again = buttonOf(this.#text('again'), () => {
      this.#area.focus();
      line.remove();
      this.#send(file);
    });
    line.append(' ', again);
  }

  /** Inserts a placeholder line at the caret, with a random fragment that distinguishes files with the same name. */
  #hold(name: string): string {
    const place = `![${this.#text('busy', name.replace(/[[\]()\\]/g, ''))}…](#${crypto.randomUUID().slice(0, 8)})`;
    const { selectionStart: at, value } = this.#area;
    const before = at === 0 || value[at - 1] === '\n' ? '' : '\n';
    insertText(this.#area, `${before}${place}\n`, at, this.#area.selectionEnd);
    return place;
  }

  /** If the writer has deleted the placeholder in the meantime, nothing is inserted. */
  #replace(place: string, text: string): void {
    const at = this.#area.value.indexOf(place);
    if (at < 0) return;
    const end = at + place.length;
    replaceText(this.#area, text, at, end + (text === '' && this.#area.value[end] === '\n' ? 1 : 0));
  }

  #line(text: string, problem = true): HTMLElement {
    const line = document.createElement('p');
    line.className = problem ? 'problem' : 'row';
    line.textContent = text;
    this.append(line);
    announce(text);
    return line;
  }
}

function buttonOf(label: string, run: () => void): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button quiet small';
  button.textContent = label;
  button.addEventListener('click', run);
  return button;
}

/** The server's response: the uploaded file or an error, with problems of the file in `details`. */
interface Answer {
  readonly upload?: Sent;
  readonly error?: string;
  readonly details?: readonly { readonly message: string }[];
}
function answerOf({ responseText }: XMLHttpRequest): Answer {
  try {
    return JSON.parse(responseText) as Answer;
  } catch {
    return {};
  }
}

/** Whether the file has one of the extensions in `accept`; the server looks into it as well. */
const isAmong = (accept: string, name: string): boolean =>
  accept.split(',').some((extension) => name.toLowerCase().endsWith(extension));

/** The file name in a path, which may be text that somebody typed. */
function fileName(path: string): string {
  const last = path.slice(path.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

const isPicture = ({ type }: Sent): boolean => type.startsWith('image/');
const pathOf = ({ url }: Sent): string => new URL(url).pathname;
/** The default description of a picture. */
const nameOf = ({ name }: Sent): string => name.replace(/\.\w+$/, '');

const markdownOf = (upload: Sent): string =>
  isPicture(upload)
    ? `![${escapeMarkdown(nameOf(upload))}](${pathOf(upload)})`
    : `[${escapeMarkdown(upload.name)}](${pathOf(upload)})`;
define('x-upload', Upload);
