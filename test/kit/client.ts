export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body if it is JSON, otherwise undefined. `any`, so that tests can access it freely. */
  readonly body: any;
}

interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as a urlencoded form. */
  readonly form?: Readonly<Record<string, string>>;
  /**
   * FormData is sent as multipart/form-data, with `_csrf` as by a browser without script; bytes are sent as they are,
   * with a content type from the headers.
   */
  readonly body?: FormData | Uint8Array<ArrayBuffer>;
}

/** A visitor: keeps cookies, follows no redirects, and sends the forgery token of the last page it loaded. */
export interface Client {
  /** Its current cookies, by name. */
  readonly cookies: ReadonlyMap<string, string>;
  /** Sends any request; redirects are not followed. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** Requests a page or a route of the API. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Sends JSON, with the forgery token of the last page it loaded. */
  post(path: string, json?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Like `post`. */
  put(path: string, json?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Like `post`, without a body. */
  delete(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Submits a form as a browser without script would, including `_csrf`. */
  submit(path: string, form?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The forgery token in the `csrf-token` meta tag of `path`. */
  csrf(path?: string): Promise<string>;
  /** Logs in through the form; throws if that fails. */
  login(identifier: string, password: string): Promise<void>;
}

const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/** Encodes the body, with its content type if that does not follow from the body itself. */
function encode({ json, form, body }: RequestOptions): {
  readonly body?: string | RequestOptions['body'];
  readonly type?: string;
} {
  if (form) return { body: new URLSearchParams(form).toString(), type: 'application/x-www-form-urlencoded' };
  if (json !== undefined) return { body: JSON.stringify(json), type: 'application/json' };
  return { body };
}

/** Forms carry the forgery token in a field of their own. */
const hasToken = ({ form, body }: RequestOptions): boolean =>
  form !== undefined || (body instanceof FormData && body.has('_csrf'));

const shown = async (client: Client): Promise<string> =>
  /name="shown" value="([^"]*)"/.exec((await client.get('/register')).text)?.[1] ?? '';

export interface ClientOptions {
  /** Headers sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called for a response with status 500 or above. */
  failed?(): Promise<void>;
}

export function createClient(url: string, { headers: fixed = {}, failed }: ClientOptions = {}): Client {
  const cookies = new Map<string, string>();
  let token: string | undefined;

  const remember = (headers: Headers): void => {
    for (const line of headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';');
      const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      const expired = attributes.some((attribute) => /^\s*(max-age=0|expires=thu, 01 jan 1970)/i.test(attribute));
      if (expired || value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
  };

  const client: Client = {
    cookies,
    async request(method, path, options = {}) {
      const { body, type } = encode(options);
      const csrf = WRITES.has(method) && !hasToken(options) ? token : undefined;
      const response = await fetch(url + path, {
        method,
        redirect: 'manual',
        headers: {
          ...(type !== undefined && { 'content-type': type }),
          ...(cookies.size > 0 && { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
          ...(csrf !== undefined && { 'x-csrf-token': csrf }),
          ...fixed,
          ...options.headers,
        },
        ...(body !== undefined && { body }),
      });
      remember(response.headers);
      const text = await response.text();
      if (response.status >= 500) await failed?.();
      token = /<meta name="csrf-token" content="([^"]*)"/.exec(text)?.[1] ?? token;
      const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: isJson ? (JSON.parse(text) as unknown) : undefined,
      };
    },
    get: (path, headers) => client.request('GET', path, { ...(headers && { headers }) }),
    post: (path, json, headers) => client.request('POST', path, { json, ...(headers && { headers }) }),
    put: (path, json, headers) => client.request('PUT', path, { json, ...(headers && { headers }) }),
    delete: (path, headers) => client.request('DELETE', path, { ...(headers && { headers }) }),
    submit: async (path, form = {}) => {
      // The sign-up form needs a timestamp of when it was shown; the token is in every page.
      const stamp = path === '/register' && form['shown'] === undefined ? { shown: await shown(client) } : {};
      return client.request('POST', path, { form: { _csrf: token ?? (await client.csrf()), ...stamp, ...form } });
    },
    async csrf(path = '/login') {
      await client.get(path);
      if (token === undefined) throw new Error(`${path} has no csrf-token meta tag`);
      return token;
    },
    async login(identifier, password) {
      await client.csrf();
      const answer = await client.submit('/login', { identifier, password });
      if (answer.status !== 303)
        throw new Error(`login of ${identifier} answered ${answer.status}: ${answer.text.slice(0, 300)}`);
      await client.csrf('/');
    },
  };
  return client;
}
