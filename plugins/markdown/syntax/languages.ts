/** A language's name, and other names that people write after the three backticks. */
interface Language {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** Languages that can be embedded in it. */
  readonly contains?: readonly string[];
}

/** The languages that are highlighted, by the name of their grammar in highlight.js. */
const LANGUAGES: Readonly<Record<string, Language>> = {
  apache: { name: 'Apache', aliases: ['apacheconf'] },
  arduino: { name: 'Arduino', aliases: ['ino'] },
  awk: { name: 'AWK' },
  bash: { name: 'Bash', aliases: ['sh', 'zsh'] },
  c: { name: 'C', aliases: ['h'] },
  clojure: { name: 'Clojure', aliases: ['clj', 'edn'] },
  cmake: { name: 'CMake' },
  cpp: { name: 'C++', aliases: ['c++', 'cc', 'hpp', 'cxx', 'h++'] },
  csharp: { name: 'C#', aliases: ['cs', 'c#'] },
  css: { name: 'CSS' },
  dart: { name: 'Dart' },
  delphi: { name: 'Delphi', aliases: ['pascal', 'pas', 'freepascal'] },
  diff: { name: 'Diff', aliases: ['patch'] },
  dns: { name: 'DNS zone', aliases: ['bind', 'zone'] },
  dockerfile: { name: 'Dockerfile', aliases: ['docker'] },
  dos: { name: 'Batch', aliases: ['bat', 'cmd'] },
  elixir: { name: 'Elixir', aliases: ['ex', 'exs'] },
  elm: { name: 'Elm' },
  erlang: { name: 'Erlang', aliases: ['erl'] },
  fortran: { name: 'Fortran', aliases: ['f90', 'f95'] },
  fsharp: { name: 'F#', aliases: ['fs', 'f#'] },
  gcode: { name: 'G-code', aliases: ['nc'] },
  glsl: { name: 'GLSL' },
  go: { name: 'Go', aliases: ['golang'] },
  gradle: { name: 'Gradle' },
  graphql: { name: 'GraphQL', aliases: ['gql'] },
  groovy: { name: 'Groovy' },
  handlebars: { name: 'Handlebars', aliases: ['hbs', 'mustache'], contains: ['xml'] },
  haskell: { name: 'Haskell', aliases: ['hs'] },
  http: { name: 'HTTP', aliases: ['https'] },
  ini: { name: 'INI', aliases: ['toml', 'conf', 'cfg'] },
  java: { name: 'Java' },
  javascript: { name: 'JavaScript', aliases: ['js', 'jsx', 'mjs', 'cjs'] },
  json: { name: 'JSON', aliases: ['jsonc', 'json5'] },
  julia: { name: 'Julia', aliases: ['jl'] },
  kotlin: { name: 'Kotlin', aliases: ['kt', 'kts'] },
  latex: { name: 'LaTeX', aliases: ['tex'] },
  less: { name: 'Less' },
  lisp: { name: 'Lisp' },
  lua: { name: 'Lua' },
  makefile: { name: 'Makefile', aliases: ['mk', 'make'] },
  markdown: { name: 'Markdown', aliases: ['md'], contains: ['xml'] },
  matlab: { name: 'MATLAB' },
  nginx: { name: 'nginx', aliases: ['nginxconf'] },
  nim: { name: 'Nim' },
  nix: { name: 'Nix' },
  objectivec: { name: 'Objective-C', aliases: ['objc', 'mm', 'obj-c'] },
  ocaml: { name: 'OCaml', aliases: ['ml'] },
  openscad: { name: 'OpenSCAD', aliases: ['scad'] },
  perl: { name: 'Perl', aliases: ['pl', 'pm'] },
  pgsql: { name: 'PostgreSQL', aliases: ['postgres', 'postgresql'] },
  php: { name: 'PHP' },
  powershell: { name: 'PowerShell', aliases: ['ps1', 'ps', 'pwsh'] },
  prolog: { name: 'Prolog' },
  properties: { name: 'Properties', aliases: ['env', 'dotenv'] },
  protobuf: { name: 'Protocol Buffers', aliases: ['proto'] },
  python: { name: 'Python', aliases: ['py', 'python3'] },
  qml: { name: 'QML' },
  r: { name: 'R' },
  ruby: { name: 'Ruby', aliases: ['rb'] },
  rust: { name: 'Rust', aliases: ['rs'] },
  scala: { name: 'Scala' },
  scheme: { name: 'Scheme', aliases: ['scm'] },
  scss: { name: 'SCSS', aliases: ['sass'] },
  shell: { name: 'Shell session', aliases: ['console', 'shellsession', 'terminal'], contains: ['bash'] },
  sql: { name: 'SQL', aliases: ['mysql', 'sqlite'] },
  swift: { name: 'Swift' },
  tcl: { name: 'Tcl' },
  twig: { name: 'Twig', aliases: ['jinja', 'jinja2', 'nunjucks'], contains: ['xml'] },
  typescript: { name: 'TypeScript', aliases: ['ts', 'tsx', 'mts', 'cts'] },
  vbnet: { name: 'Visual Basic .NET', aliases: ['vb'] },
  verilog: { name: 'Verilog', aliases: ['v', 'sv'] },
  vhdl: { name: 'VHDL' },
  vim: { name: 'Vim script', aliases: ['vimscript'] },
  wasm: { name: 'WebAssembly', aliases: ['wat'] },
  x86asm: { name: 'Assembly (x86)', aliases: ['asm', 'nasm'] },
  xml: {
    name: 'HTML, XML',
    aliases: ['html', 'xhtml', 'svg', 'rss', 'atom', 'vue', 'svelte'],
    contains: ['css', 'javascript'],
  },
  yaml: { name: 'YAML', aliases: ['yml'] },
};

/** Display names for words for which the grammar's name is not what readers expect. */
const SHOWN: Readonly<Record<string, string>> = {
  html: 'HTML',
  xml: 'XML',
  svg: 'SVG',
  toml: 'TOML',
  jsx: 'JSX',
  tsx: 'TSX',
  vue: 'Vue',
  svelte: 'Svelte',
  pascal: 'Pascal',
  text: 'Text',
  txt: 'Text',
  plaintext: 'Text',
};

const GRAMMARS = new Map(
  Object.entries(LANGUAGES).flatMap(([grammar, { aliases = [] }]) =>
    [grammar, ...aliases].map((word) => [word, grammar] as const),
  ),
);

/** The grammar for a word after the backticks, and those of embedded languages; empty if it is not highlighted. */
export function grammarsOf(word: string): readonly string[] {
  const grammar = GRAMMARS.get(word);
  if (grammar === undefined) return [];
  return [grammar, ...(LANGUAGES[grammar]?.contains ?? []).flatMap((other) => grammarsOf(other))];
}

/** The language's display name, or the word as written if it is unknown. */
export const languageName = (word: string): string => SHOWN[word] ?? LANGUAGES[GRAMMARS.get(word) ?? '']?.name ?? word;
