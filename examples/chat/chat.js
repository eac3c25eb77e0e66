/**
 * Both sides of the page: a visitor with one conversation, and an agent with an inbox. Each is a client of the HTTP API
 * with a key of its own; what the other writes comes by the feed.
 */

import { SBClient } from './sb-client.js';

/** A conversation on the screen. */
class Thread {
  #list;
  #self;
  #empty;
  #shown = new Map();

  constructor(list, self, empty) {
    this.#list = list;
    this.#self = self;
    this.#empty = empty;
    // Whatever its size becomes, its end is what is seen.
    new ResizeObserver(() => this.#scroll()).observe(list);
    this.clear();
  }

  #scroll() {
    this.#list.scrollTop = this.#list.scrollHeight;
  }

  clear() {
    this.#shown.clear();
    this.#list.replaceChildren(element('li', 'empty', this.#empty));
  }

  /** The id of the newest message that is shown. */
  get newest() {
    return String(Math.max(0, ...[...this.#shown.keys()].map(Number).filter(Number.isFinite)));
  }

  /** Shows a message, or what has become of it. */
  show(message) {
    this.#list.querySelector('.empty')?.remove();
    const known = this.#shown.get(message.id);
    const bubble = known ?? element('li', 'bubble');
    const isGone = message.payload?.event === 'delete-message';
    bubble.className = `bubble${message.user_id === this.#self ? ' own' : ''}`;
    bubble.textContent = isGone ? 'This message was deleted' : message.message;
    bubble.title = clock(message.creation_time);
    if (!known) {
      this.#shown.set(message.id, bubble);
      // Ids follow time: what comes late takes its place.
      const later = [...this.#shown].filter(([id]) => Number(id) > Number(message.id)).sort(([a], [b]) => a - b);
      this.#list.insertBefore(bubble, later[0]?.[1] ?? this.#list.querySelector('.sending'));
    }
    if (message.user_id === this.#self && message.status_code === '2') {
      this.read(message.id);
    }
    this.#scroll();
  }

  /** Shows a message that is on its way. */
  begin(text) {
    this.#list.querySelector('.empty')?.remove();
    const bubble = element('li', 'bubble own sending', text);
    this.#list.append(bubble);
    this.#scroll();
    return {
      arrived: id => {
        if (this.#shown.has(id)) {
          bubble.remove();
        } else {
          bubble.className = 'bubble own';
          this.#shown.set(id, bubble);
        }
      },
      failed: (error, again) => {
        bubble.className = 'bubble own failed';
        const note = element('li', 'note failed', `Not sent: ${error.message} `);
        const button = element('button', '', 'Try again');
        button.type = 'button';
        button.addEventListener('click', () => {
          bubble.remove();
          note.remove();
          again();
        });
        note.append(button);
        bubble.after(note);
        this.#scroll();
      },
    };
  }

  /** The other side has read up to a message. */
  read(id) {
    const own = [...this.#shown].filter(([own, bubble]) => Number(own) <= Number(id) && bubble.classList.contains('own'));
    const last = own.sort(([a], [b]) => b - a)[0]?.[1];
    if (last && !last.nextElementSibling?.classList.contains('note')) {
      this.#list.querySelectorAll('.note:not(.failed)').forEach(note => note.remove());
      last.after(element('li', 'note', 'Read'));
      this.#scroll();
    }
  }
}

/** The side of someone who asks. */
async function visitor(place, { id, key }, endpoint) {
  const client = new SBClient({ apiKey: key, endpoint });
  const thread = new Thread(part(place, 'thread'), id, 'Hello! Write to us, we are here to help.');
  let conversation = (await client.conversations()).data[0]?.conversation_id;

  const load = async () => {
    for (let after = thread.newest; conversation && after;) {
      const page = await client.messages(conversation, { after });
      page.data.forEach(message => thread.show(message));
      after = page.next_cursor;
    }
  };
  const showStatus = isThere => showStatusOf(place, true, isThere ? 'online' : 'answers within a few minutes');
  client.on('open', ({ agents_online }) => showStatus(agents_online));
  client.on('close', () => showStatusOf(place, false));
  client.on('presence', ({ online }) => showStatus(online));
  client.on('message', message => {
    conversation ??= message.conversation_id;
    if (message.conversation_id === conversation) {
      thread.show(message);
      if (message.user_id !== id) {
        // Reading it is what tells the other side.
        client.messages(conversation, { after: String(Number(message.id) - 1) });
      }
    }
  });
  client.on('message.updated', message => thread.show(message));
  client.on('message.deleted', message => thread.show(message));
  client.on('message.read', ({ message_id, user_id }) => user_id !== id && thread.read(message_id));
  client.on('resync', load);
  await load();

  const send = async text => {
    const sending = thread.begin(text);
    try {
      conversation ??= (await client.openConversation({ user_id: id, title: 'A question' })).id;
      sending.arrived((await client.sendMessage({ conversation_id: conversation, user_id: id, message: text })).id);
    } catch (error) {
      sending.failed(error, () => send(text));
    }
  };
  form(place, send);
}

/** The side of someone who answers. */
async function agent(place, { id, key }, endpoint) {
  const client = new SBClient({ apiKey: key, endpoint });
  const thread = new Thread(part(place, 'thread'), id, 'Choose a conversation from the inbox.');
  const inbox = new Map();
  let open = null;

  const list = () => {
    const focused = document.activeElement?.dataset.conversation;
    const items = [...inbox.values()].sort((a, b) => Number(b.id) - Number(a.id));
    part(place, 'inbox').replaceChildren(...items.map(item => {
      const button = element('button');
      button.dataset.conversation = item.conversation_id;
      button.setAttribute('aria-current', String(item.conversation_id === open));
      const unread = item.unread ? element('span', 'unread', String(item.unread)) : '';
      if (unread) {
        unread.append(element('span', 'hidden', ' unread'));
      }
      button.append(face(item.name), element('b', '', item.name), element('time', '', clock(item.creation_time)),
        element('p', '', item.message), unread);
      button.addEventListener('click', () => choose(item.conversation_id));
      const row = element('li');
      row.append(button);
      return row;
    }));
    // Whoever goes through the inbox with the keyboard stays where they are.
    place.querySelector(`[data-conversation="${focused}"]`)?.focus();
  };
  const read = async conversation => {
    for (let after = thread.newest; after && conversation === open;) {
      const page = await client.messages(conversation, { after });
      if (conversation === open) {
        page.data.forEach(message => thread.show(message));
      }
      after = page.next_cursor;
    }
  };
  const choose = async conversation => {
    open = conversation;
    const item = inbox.get(conversation);
    item.unread = 0;
    thread.clear();
    part(place, 'head').replaceChildren(element('b', '', item.name), element('small', '', `Conversation ${conversation}`));
    part(place, 'write').hidden = false;
    list();
    await read(conversation);
    place.querySelector('textarea').focus();
  };
  const load = async () => {
    for (const item of (await client.conversations({ limit: 50 })).data) {
      const isWaiting = item.message_user_type !== 'agent' && item.status_code === '0' && item.conversation_id !== open;
      const name = `${item.first_name} ${item.last_name}`;
      inbox.set(item.conversation_id, { ...item, name, unread: isWaiting ? 1 : 0 });
    }
    list();
  };

  client.on('open', () => showStatusOf(place, true, 'online'));
  client.on('close', () => showStatusOf(place, false));
  client.on('message', async message => {
    const known = inbox.get(message.conversation_id);
    if (!known) {
      await load();
    } else {
      const unread = message.user_id === id || message.conversation_id === open ? 0 : known.unread + 1;
      inbox.set(message.conversation_id, { ...known, id: message.id, message: message.message, creation_time: message.creation_time, unread });
    }
    if (message.conversation_id === open) {
      thread.show(message);
      if (message.user_id !== id) {
        client.messages(open, { after: String(Number(message.id) - 1) });
      }
    }
    list();
  });
  const change = message => message.conversation_id === open && thread.show(message);
  client.on('message.updated', change);
  client.on('message.deleted', change);
  client.on('message.read', sign => sign.conversation_id === open && sign.user_id !== id && thread.read(sign.message_id));
  client.on('resync', async () => {
    await load();
    if (open) {
      await read(open);
    }
  });
  await load();

  const send = async (text, conversation = open) => {
    const sending = thread.begin(text);
    try {
      sending.arrived((await client.sendMessage({ conversation_id: conversation, user_id: id, message: text })).id);
    } catch (error) {
      sending.failed(error, () => send(text, conversation));
    }
  };
  form(place, text => send(text));
}

/** Sends with Enter and with the button. */
function form(place, send) {
  const write = part(place, 'write');
  const text = write.querySelector('textarea');
  const grow = () => {
    text.style.height = 'auto';
    text.style.height = `${text.scrollHeight + 2}px`;
  };
  write.addEventListener('submit', event => {
    event.preventDefault();
    const message = text.value.trim();
    if (message) {
      text.value = '';
      grow();
      send(message);
    }
  });
  text.addEventListener('input', grow);
  text.addEventListener('keydown', event => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      write.requestSubmit();
    }
  });
}

function showStatusOf(place, isConnected, text) {
  const status = part(place, 'status');
  status.classList.toggle('online', isConnected);
  status.textContent = isConnected ? text : 'reconnecting …';
}

function part(place, name) {
  return place.querySelector(`[data-${name}]`);
}

function element(kind, className = '', text = '') {
  const made = document.createElement(kind);
  made.className = className;
  made.textContent = text;
  return made;
}

/** Initials in a colour that follows from the name. */
function face(name) {
  const made = element('span', 'face');
  paint(made, name);
  return made;
}

function paint(place, name) {
  place.textContent = name.split(' ').map(word => word[0]).join('').slice(0, 2).toUpperCase();
  place.style.setProperty('--hue', [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7));
  place.setAttribute('aria-hidden', 'true');
}

/** A time of the API in the reader's own zone. */
function clock(time) {
  return new Date(`${time.replace(' ', 'T')}Z`).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}

document.querySelectorAll('[data-face]').forEach(place => paint(place, place.dataset.face));
const { endpoint, ...keys } = await (await fetch('keys.json')).json();
await Promise.all([
  visitor(document.querySelector('#visitor'), keys.visitor, endpoint),
  agent(document.querySelector('#agent'), keys.agent, endpoint),
]);
document.body.dataset.ready = 'true';
