/**
 * Names that might be mistaken for the forum itself. An operator can still assign them as usernames on the command
 * line.
 */
export const RESERVED: ReadonlySet<string> = new Set(
  `abuse admin administrator all anonymous api deleted everyone forum guest guests help here hostmaster info login logout mail member members mod moderator
  moderators mods news nobody noreply no-reply notifications null official owner parley postmaster register root security settings staff superuser support
  sysadmin system team undefined webmaster www`.split(/\s+/),
);

/** Names for staff in languages other than English, in addition to the names of the forum's groups. */
const STAFF =
  `administrador administradora administrateur administratorin administratrice amministratore beheerder moderador moderadora modérateur
  moderatore moderatorin modératrice администратор модератор 管理员 管理者 مدير مشرف`.split(/\s+/);

/**
 * Letters of other scripts, small capitals and digits, each above the letter that it resembles; a capital I resembles
 * an l.
 */
const [LOOKALIKES, LETTERS] = [
  'авеікмнорстухѕјԁԛԝαεικνορτυχɑɡıᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢl01',
  'abeikmhopctyxsjdqwaeiknoptuxagiabcdeghijkimnoprstuvwyzioi',
];

/** A name as it is read: only letters and digits, with lookalikes unified. */
const read = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replace(/./gu, (letter) => LETTERS[LOOKALIKES.indexOf(letter)] ?? letter);

const OWN = [...RESERVED, ...STAFF];

/**
 * Whether a name consists only of names of the forum, its groups and its staff, such as “Moderator” or “Forum team”.
 */
export function soundsOfficial(name: string, names: readonly string[]): boolean {
  const words = new Set([...OWN, ...names].map(read).filter(Boolean));
  const text = read(name);
  const reached = new Set([0]);
  for (let at = 0; at < text.length; at++)
    if (reached.has(at)) for (const word of words) if (text.startsWith(word, at)) reached.add(at + word.length);
  return reached.has(text.length);
}
