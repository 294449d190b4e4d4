import { ConfigurationError, defineCommand, Type } from 'parley-forum';
import { AuditLog } from 'parley-forum/plugins/audit';

/** The command `audit verify`. */
export const verifyCommand = defineCommand({
  name: 'audit verify',
  summary: 'Check that no entry of the audit log was changed, moved or taken out.',
  options: Type.Object({}),
  needs: { audit: AuditLog },
  async run({ audit }, _options, console) {
    const { entries, broken } = await audit.verify();
    if (broken !== undefined) {
      throw new ConfigurationError(
        `The entry at position ${broken} is not as it was written, or some before it are missing; ${entries} before it are whole`,
      );
    }
    console.print(`${entries} entries, all as they were written.`);
  },
});
