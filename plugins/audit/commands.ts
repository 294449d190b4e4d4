import { ConfigurationError, defineCommand, Type } from 'parley-forum';
import { AuditLog } from 'parley-forum/plugins/audit';

/** The command `audit verify`. */
export const verifyCommand = defineCommand({
  name: 'audit verify',
  summary: 'Checks that no entry of the audit log was changed, moved or removed.',
  options: Type.Object({}),
  needs: { audit: AuditLog },
  async run({ audit }, _options, console) {
    const { entries, broken } = await audit.verify();
    if (broken !== undefined) {
      throw new ConfigurationError(
        `The entry at position ${broken} was altered, or entries before it are missing; ${entries} entries before it are intact`,
      );
    }
    console.print(`${entries} entries, all intact.`);
  },
});
