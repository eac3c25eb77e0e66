-- Fills a database of the library's schema with @conversations conversations: the same rows on every run.
--
-- @users users, or half as many as conversations, and 42 who answer; eight messages to a conversation on average, in the
-- middle one exactly 100. Ids follow time, as in a database that grew: the messages of one conversation lie apart.
-- Chance is the CRC of the row's number and a letter.

SET SESSION sql_mode = '', time_zone = '+00:00', foreign_key_checks = 0, unique_checks = 0;
SET SESSION group_concat_max_len = 65535;
SET @users = COALESCE(@users, @conversations DIV 2), @staff = 42, @now = '2026-01-01 12:00:00', @minutes = 3 * 365 * 24 * 60;

-- Some thousand words that messages are cut out of; of one byte each letter, so that a cut costs the same everywhere.
SELECT CONVERT(GROUP_CONCAT(ELT(1 + CRC32(CONCAT('w', seq)) % 24, 'the', 'order', 'please', 'refund', 'help', 'invoice',
    'shipping', 'account', 'thanks', 'password', 'when', 'will', 'it', 'arrive', 'in', 'a', 'different', 'colour',
    'my', 'address', 'has', 'changed', 'since', 'Monday') ORDER BY seq SEPARATOR ' ') USING latin1)
INTO @words
FROM seq_1_to_2000;

INSERT INTO sb_users (id, first_name, last_name, password, email, profile_image, user_type, creation_time, token,
    last_activity, department)
SELECT seq,
    ELT(1 + CRC32(CONCAT('f', seq)) % 8, 'Anna', 'Ben', 'Carla', 'David', 'Elena', 'José', 'Lucía', 'Omar'),
    CONCAT(ELT(1 + CRC32(CONCAT('l', seq)) % 6, 'Smith', 'García', 'Rossi', 'Müller', 'Novak', 'Silva'), seq % 97),
    IF(seq % 3 = 0, NULL, CONCAT('$2y$12$', LEFT(MD5(seq), 22), LEFT(MD5(-seq), 31))),
    IF(seq > @staff AND seq % 3 = 0, NULL, CONCAT('user', seq, '@example.com')),
    CONCAT('https://chat.example.com/media/user', seq % 50, '.svg'),
    CASE WHEN seq = 1 THEN 'admin' WHEN seq = 2 THEN 'bot' WHEN seq <= @staff THEN 'agent'
        ELSE ELT(1 + seq % 3, 'visitor', 'user', 'lead') END,
    @now - INTERVAL @minutes MINUTE + INTERVAL @minutes * seq DIV (@users + @staff + 1) MINUTE,
    CONCAT(MD5(CONCAT('t', seq)), LPAD(HEX(seq), 8, '0')),
    @now - INTERVAL CRC32(CONCAT('o', seq)) % 1000000 SECOND,
    IF(seq BETWEEN 3 AND @staff AND seq % 3 > 0, 1 + seq % 5, NULL)
FROM seq_1_to_1000000
WHERE seq <= @users + @staff;

INSERT INTO sb_users_data (user_id, slug, name, value)
SELECT u.seq,
    ELT(d.seq, 'phone', 'city', 'country', 'language', 'browser', 'current_url'),
    ELT(d.seq, 'Phone', 'City', 'Country', 'Language', 'Browser', 'Current URL'),
    ELT(d.seq, CONCAT('+44', 100000000 + u.seq), ELT(1 + u.seq % 4, 'London', 'Paris', 'Berlin', 'Rome'),
        ELT(1 + u.seq % 4, 'GB', 'FR', 'DE', 'IT'), ELT(1 + u.seq % 4, 'en', 'fr', 'de', 'it'),
        ELT(1 + u.seq % 3, 'Chrome', 'Firefox', 'Safari'), CONCAT('https://shop.example.com/product?id=', u.seq % 9999))
FROM seq_1_to_1000000 u
JOIN seq_1_to_6 d
WHERE u.seq <= @users + @staff;

INSERT INTO sb_conversations (id, user_id, title, creation_time, status_code, department, agent_id, source)
SELECT seq,
    @staff + 1 + CRC32(CONCAT('u', seq)) % @users,
    IF(seq % 3 = 0, SUBSTRING(@words, 1 + CRC32(CONCAT('n', seq)) % 9000, 20), NULL),
    @now - INTERVAL @minutes MINUTE + INTERVAL @minutes * seq DIV (@conversations + 1) MINUTE,
    ELT(1 + CRC32(CONCAT('s', seq)) % 10, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3),
    IF(seq % 2 = 0, 1 + seq % 5, NULL),
    IF(seq % 2 = 0, 3 + seq % 40, NULL),
    IF(seq % 3 = 0, ELT(1 + seq % 4, 'em', 'wa', 'fb', 'tk'), NULL)
FROM seq_1_to_2000000
WHERE seq <= @conversations;

-- One to fifteen messages a conversation.
CREATE TEMPORARY TABLE turns (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, conversation_id INT NOT NULL, turn INT NOT NULL, time DATETIME NOT NULL
)
SELECT c.id conversation_id, t.seq turn,
    c.creation_time + INTERVAL t.seq * (20 + CRC32(CONCAT('p', c.id, t.seq)) % 600) SECOND time
FROM sb_conversations c
JOIN seq_1_to_100 t
WHERE t.seq <= IF(c.id = @conversations DIV 2, 100, 1 + CRC32(CONCAT('k', c.id)) % 15)
ORDER BY time, conversation_id, turn;

INSERT INTO sb_messages (id, user_id, message, creation_time, status_code, attachments, payload, conversation_id)
SELECT t.id,
    CASE WHEN t.turn % 2 = 1 THEN c.user_id ELSE COALESCE(c.agent_id, 2) END,
    CONCAT(CONVERT(SUBSTRING(@words, 1 + CRC32(CONCAT('m', t.id)) % 9000, 10 + CRC32(CONCAT('z', t.id)) % 200)
        USING utf8mb4), IF(t.id % 100 = 0, ' 👍 grüße', '')),
    t.time,
    CRC32(CONCAT('r', t.id)) % 2 * 2,
    IF(t.id % 20 = 0, CONCAT('[["invoice-', t.id, '.pdf","https://chat.example.com/uploads/', MD5(t.id), '.pdf"]]'), ''),
    IF(t.id % 20 = 1, '{"event":"open-chat"}', ''),
    t.conversation_id
FROM turns t
JOIN sb_conversations c ON c.id = t.conversation_id;

INSERT INTO sb_settings (name, value) VALUES ('settings', '{"visitor-default-name":["User","text"]}');

ANALYZE TABLE sb_users, sb_users_data, sb_conversations, sb_messages;
