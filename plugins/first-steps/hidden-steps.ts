import { sql, type Data } from 'parley-forum';

/** Which members dismissed the first steps, and when. */
export class HiddenSteps {
  readonly #data: Data;

  constructor(data: Data) {
    this.#data = data;
  }

  async has(userId: string): Promise<boolean> {
    return (await this.at(userId)) !== undefined;
  }

  async at(userId: string): Promise<Date | undefined> {
    const row = await this.#data.one(
      sql<{ hiddenAt: Date }>`select hidden_at as "hiddenAt" from first_steps_hidden where user_id = ${userId}`,
    );
    return row?.hiddenAt;
  }

  async add(userId: string, now: Date): Promise<void> {
    await this.#data.all(sql`insert into first_steps_hidden (user_id, hidden_at) values (${userId}, ${now})
      on conflict (user_id) do nothing`);
  }

  async remove(userId: string): Promise<void> {
    await this.#data.all(sql`delete from first_steps_hidden where user_id = ${userId}`);
  }
}
